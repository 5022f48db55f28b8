import type { Probe, ProbeRow } from '../probe-types.ts';
import { fieldProbes } from './field-probes.ts';
import { limitProbes } from './limit-probes.ts';
import { reasoningProbes } from './reasoning-probes.ts';
import { serverProbes } from './server-probes.ts';
import { textProbes } from './text-probes.ts';
import { toolProbes } from './tool-probes.ts';
import { turnProbes } from './turn-probes.ts';

const groups: Readonly<Record<Probe['group'], readonly ProbeRow[]>> = {
  server: serverProbes,
  text: textProbes,
  tools: toolProbes,
  turns: turnProbes,
  fields: fieldProbes,
  reasoning: reasoningProbes,
  limits: limitProbes,
};

/** Every probe, in the order in which they are asked: later ones look at what earlier ones found. */
export const allProbes: readonly Probe[] = Object.entries(groups).flatMap(([group, rows]) =>
  rows.map((row) => ({ group: group as Probe['group'], requests: 1, ...row })),
);
