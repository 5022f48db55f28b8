import { probeOf } from '../chat-probe.ts';
import type { Probe } from '../probe-types.ts';
import { fieldProbes } from './field-probes.ts';
import { limitProbes } from './limit-probes.ts';
import { reasoningProbes } from './reasoning-probes.ts';
import { serverProbes } from './server-probes.ts';
import { textProbes } from './text-probes.ts';
import { toolProbes } from './tool-probes.ts';
import { turnProbes } from './turn-probes.ts';

/** Every probe, in the order in which they are asked: later ones look at what earlier ones found. */
export const allProbes: readonly Probe[] = [
  ...serverProbes.map((row) => probeOf('server', row)),
  ...textProbes.map((row) => probeOf('text', row)),
  ...toolProbes.map((row) => probeOf('tools', row)),
  ...turnProbes.map((row) => probeOf('turns', row)),
  ...fieldProbes.map((row) => probeOf('fields', row)),
  ...reasoningProbes.map((row) => probeOf('reasoning', row)),
  ...limitProbes.map((row) => probeOf('limits', row)),
];
