import type { ProfileFlags } from '../../../filter/upstream/profile.ts';
import { factOf, found } from '../probe-types.ts';
import { type EvidenceRow, equal, failed, shows } from './evidence.ts';

const refusable = ['presence_penalty', 'frequency_penalty', 'logprobs', 'stop'] as const;

/** The effect of these can be seen, so that a profile without them can be wrong as well. */
const seen = ['logprobs', 'stop'] as const;

/** Flags of fields and of what a message may hold. */
export const fieldEvidence: readonly EvidenceRow[] = [
  {
    flags: ['refusedFields'],
    probes: refusable,
    read(findings) {
      const lost = refusable.filter((name) => found(findings, name, ...failed, 'ignored'));
      const kept: readonly string[] = seen.filter((name) => found(findings, name, 'works'));
      return {
        from: [...lost, ...kept].join(', '),
        fits: ({ refusedFields }) =>
          lost.every((name) => refusedFields.includes(name)) && !refusedFields.some((name) => kept.includes(name)),
        change: ({ refusedFields }) => ({
          refusedFields: [...new Set([...refusedFields, ...lost])].filter((name) => !kept.includes(name)),
        }),
      };
    },
  },
  shows('image', ['works'], { image: true }),
  {
    flags: ['image'],
    probes: ['models', 'software'],
    read: (findings) =>
      factOf(findings, 'takesImages') === false && !found(findings, 'image', 'works')
        ? equal('models, software', { image: 'omit' }, takesNoImages)
        : null,
  },
  shows('image', ['ignored'], { image: 'omit' }, takesNoImages),
  // A server without images has no video either: it is not probed.
  shows('image', failed, { image: 'omit', video: false }, (flags) => takesNoImages(flags) && !flags.video),
  shows('audio', failed, { audio: false }),
  {
    flags: ['jsonSchema'],
    probes: ['json_schema', 'json_object'],
    read(findings) {
      if (found(findings, 'json_schema', 'works')) {
        return equal('json_schema', { jsonSchema: 'native' }, ({ jsonSchema }) => jsonSchema.startsWith('native'));
      }
      if (!found(findings, 'json_schema', ...failed, 'ignored')) return null;
      const fallback = found(findings, 'json_object', 'works') ? 'json_object' : 'prompt';
      return equal('json_schema, json_object', { jsonSchema: fallback });
    },
  },
];

function takesNoImages({ image }: ProfileFlags): boolean {
  return image !== true;
}
