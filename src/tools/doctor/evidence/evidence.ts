import type { ProfileFlags } from '../../../filter/index.ts';
import { found } from '../findings.ts';
import type { Findings, Result } from '../probe-types.ts';

export type Flags = Partial<ProfileFlags>;

/**
 * Evidence from the probes about some flags. Only measurements count: an effect seen or missing, or an error. A server that
 * accepts a field without an error does not contradict a flag not to send it.
 */
export interface Evidence {
  /** The probes it comes from. */
  readonly from: string;
  /** Whether the flags of a profile agree with what was found. */
  fits(flags: ProfileFlags): boolean;
  /** The flags that make a profile agree. */
  change(flags: ProfileFlags): Flags;
}

/** The server and model that were probed. */
export interface Subject {
  /** The path of the Chat API. */
  readonly path: string;
  readonly model: string;
}

/** Which probes are evidence for which flags, and how. */
export interface EvidenceRow {
  readonly flags: readonly (keyof ProfileFlags)[];
  readonly probes: readonly string[];
  /** The evidence in these findings; null if they are inconclusive. */
  read(findings: Findings, subject: Subject): Evidence | null;
}

/** The flags have exactly these values, or others that `fits` accepts. */
export function equal(
  from: string,
  wanted: Flags,
  fits: Evidence['fits'] = (flags) =>
    namesOf(wanted).every((name) => JSON.stringify(flags[name]) === JSON.stringify(wanted[name])),
): Evidence {
  return { from, fits, change: () => wanted };
}

/** A row: where that holds, the flags have these values, or others that `fits` accepts. */
export function where(
  probes: readonly string[],
  holds: (findings: Findings) => boolean,
  wanted: Flags,
  fits?: Evidence['fits'],
): EvidenceRow {
  const from = probes.join(', ');
  return { flags: namesOf(wanted), probes, read: (findings) => (holds(findings) ? equal(from, wanted, fits) : null) };
}

/** A row: if the probe has one of these results, the flags have these values, or others that `fits` accepts. */
export function shows(probe: string, results: readonly Result[], wanted: Flags, fits?: Evidence['fits']): EvidenceRow {
  return where([probe], (findings) => found(findings, probe, ...results), wanted, fits);
}

function namesOf(flags: Flags): (keyof ProfileFlags)[] {
  return Object.keys(flags) as (keyof ProfileFlags)[];
}
