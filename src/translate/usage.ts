import { choiceOf, countOf, type Loose, objectOf } from '../schema/chat-completion.ts';
import type { Usage } from '../schema/response-resource.ts';
import type { Profile } from '../upstream/profile.ts';

/**
 * The usage a completion or a chunk carries, in whatever spelling and place its vendor puts it (docs/answers.md §2.7); null if
 * it carries none. Counts are cumulative everywhere: of a stream's usages the last one that is not null stands.
 */
export function usageOf(carrier: unknown, profile: Pick<Profile, 'reasoningTokensExtra'>): Usage | null {
  const usage = foundIn(objectOf(carrier));
  if (usage === null) return null;

  const input = firstCount(usage['prompt_tokens'], usage['input_tokens']) ?? 0;
  const givenTotal = countOf(usage['total_tokens']);
  const reasoning = reasoningTokens(usage);
  const completion =
    firstCount(usage['completion_tokens'], usage['output_tokens']) ?? Math.max(0, (givenTotal ?? 0) - input);
  // xAI bills reasoning beside the completion; the Responses API counts it inside.
  const output = profile.reasoningTokensExtra ? completion + reasoning : completion;
  const written = cacheWrites(usage);
  return {
    input_tokens: input,
    input_tokens_details: {
      cached_tokens: Math.min(cachedTokens(usage), input),
      ...(written > 0 && { cache_write_tokens: written }),
    },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: reasoning },
    total_tokens: profile.reasoningTokensExtra ? input + output : (givenTotal ?? input + output),
  };
}

/** The body's own, Groq's `x_groq.usage`, Kimi's `choices[0].usage`. `{}` counts as none. */
function foundIn(carrier: Loose | null): Loose | null {
  if (carrier === null) return null;
  for (const value of [carrier['usage'], objectOf(carrier['x_groq'])?.['usage'], choiceOf(carrier)?.['usage']]) {
    const usage = objectOf(value);
    if (usage !== null && Object.values(usage).some((count) => countOf(count) !== null)) return usage;
  }
  return null;
}

function cachedTokens(usage: Loose): number {
  return (
    firstCount(
      objectOf(usage['prompt_tokens_details'])?.['cached_tokens'],
      usage['prompt_cache_hit_tokens'], // DeepSeek
      usage['cached_tokens'], // Kimi
      usage['num_cached_tokens'], // Mistral
      usage['cache_read_input_tokens'], // Anthropic, LiteLLM
      objectOf(usage['input_tokens_details'])?.['cached_tokens'],
    ) ?? 0
  );
}

function cacheWrites(usage: Loose): number {
  return (
    firstCount(
      usage['cache_creation_input_tokens'],
      objectOf(usage['prompt_tokens_details'])?.['cache_write_tokens'],
      objectOf(usage['input_tokens_details'])?.['cache_write_tokens'],
    ) ?? 0
  );
}

function reasoningTokens(usage: Loose): number {
  return (
    firstCount(
      objectOf(usage['completion_tokens_details'])?.['reasoning_tokens'],
      usage['reasoning_tokens'], // SGLang
      objectOf(usage['output_tokens_details'])?.['reasoning_tokens'],
    ) ?? 0
  );
}

function firstCount(...values: readonly unknown[]): number | null {
  for (const value of values) {
    const count = countOf(value);
    if (count !== null) return count;
  }
  return null;
}
