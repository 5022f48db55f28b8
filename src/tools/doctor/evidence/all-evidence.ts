import type { Findings } from '../probe-types.ts';
import { type Evidence, type EvidenceRow, equal, type Subject } from './evidence.ts';
import { fieldEvidence } from './field-evidence.ts';
import { reasoningEvidence } from './reasoning-evidence.ts';
import { toolEvidence } from './tool-evidence.ts';
import { turnEvidence } from './turn-evidence.ts';

/**
 * Every flag that can be probed, with its probes; where rows of one flag disagree, the later one counts. Flags that are not
 * here say why in `upstream/profile.ts`.
 */
export const allEvidence: readonly EvidenceRow[] = [
  { flags: ['path'], probes: [], read: (_findings, { path }) => equal('the URL', { path }) },
  ...turnEvidence,
  ...toolEvidence,
  ...fieldEvidence,
  ...reasoningEvidence,
];

/** What the findings say of the flags. */
export function evidenceOf(findings: Findings, subject: Subject): Evidence[] {
  return allEvidence.flatMap((row) => row.read(findings, subject) ?? []);
}
