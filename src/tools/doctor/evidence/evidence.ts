import type { ProfileFlags } from '../../../filter/index.ts';
import { hasResult } from '../findings.ts';
import type { Findings, Result } from '../probe-types.ts';

export type Flags = Partial<ProfileFlags>;

/**
 * Evidence from the probes about some flags. Only measurements count: an effect seen or missing, or an error. A server that
 * accepts a field without an error does not contradict a flag not to send it.
 */
export interface Evidence {
  /** The names of the probes that this evidence comes from. */
  readonly from: string;
  /** Whether a profile with these flags agrees with the evidence. */
  fits(flags: ProfileFlags): boolean;
  /** Changes to the flags with which the profile agrees with the evidence. */
  change(flags: ProfileFlags): Flags;
}

export interface Subject {
  readonly path: string;
  readonly model: string;
}

/** A rule that derives evidence about flags from the findings of some probes. */
export interface EvidenceRow {
  readonly flags: readonly (keyof ProfileFlags)[];
  readonly probes: readonly string[];
  /** Derives evidence from the findings; null if they are inconclusive. */
  read(findings: Findings, subject: Subject): Evidence | null;
}

/** Evidence that the flags have exactly these values, or other values that `fits` accepts. */
export function buildEvidence(
  from: string,
  wanted: Flags,
  fits: Evidence['fits'] = (flags) =>
    listFlags(wanted).every((name) => JSON.stringify(flags[name]) === JSON.stringify(wanted[name])),
): Evidence {
  return { from, fits, change: () => wanted };
}

/** Builds a row of evidence: if the condition holds, the flags have these values, or others that fit. */
export function buildRowWhere(
  probes: readonly string[],
  holds: (findings: Findings) => boolean,
  wanted: Flags,
  fits?: Evidence['fits'],
): EvidenceRow {
  const from = probes.join(', ');
  return {
    flags: listFlags(wanted),
    probes,
    read: (findings) => (holds(findings) ? buildEvidence(from, wanted, fits) : null),
  };
}

/** Builds a row of evidence: after one of these results the flags have these values, or others that fit. */
export function buildRowFor(
  probe: string,
  results: readonly Result[],
  wanted: Flags,
  fits?: Evidence['fits'],
): EvidenceRow {
  return buildRowWhere([probe], (findings) => hasResult(findings, probe, ...results), wanted, fits);
}

function listFlags(flags: Flags): (keyof ProfileFlags)[] {
  return Object.keys(flags) as (keyof ProfileFlags)[];
}
