import { buildProbe } from '../chat-probe.ts';
import type { Probe } from '../findings.ts';
import { fieldProbes } from './field-probes.ts';
import { limitProbes } from './limit-probes.ts';
import { reasoningProbes } from './reasoning-probes.ts';
import { serverProbes } from './server-probes.ts';
import { textProbes } from './text-probes.ts';
import { toolProbes } from './tool-probes.ts';
import { turnProbes } from './turn-probes.ts';

/** Every probe, in the order in which they are asked: later ones look at what earlier ones found. */
export const allProbes: readonly Probe[] = [
  ...serverProbes.map((row) => buildProbe('server', row)),
  ...textProbes.map((row) => buildProbe('text', row)),
  ...toolProbes.map((row) => buildProbe('tools', row)),
  ...turnProbes.map((row) => buildProbe('round trips', row)),
  ...fieldProbes.map((row) => buildProbe('fields', row)),
  ...reasoningProbes.map((row) => buildProbe('reasoning', row)),
  ...limitProbes.map((row) => buildProbe('limits', row)),
];
