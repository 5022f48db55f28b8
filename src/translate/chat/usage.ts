import { choiceOf, countOf, type Loose, objectOf } from '../../schema/chat-completion.ts';
import type { Usage } from '../../schema/response-resource.ts';
import type { Profile } from '../../upstream/profile.ts';

/**
 * The usage a completion or a chunk carries, in whatever spelling and place its vendor puts it (docs/answers.md §2.7); null if
 * it carries none. Counts are cumulative everywhere: of a stream's usages the last one that is not null stands.
 */
export function usageOf(carrier: unknown, profile: Pick<Profile, 'reasoningTokensExtra'>): Usage | null {
  const usage = foundIn(objectOf(carrier));
  if (usage === null) return null;

  const input = countOf(usage['prompt_tokens']) ?? countOf(usage['input_tokens']) ?? 0;
  const givenTotal = countOf(usage['total_tokens']);
  const reasoning = reasoningTokens(usage);
  const completion =
    countOf(usage['completion_tokens']) ?? countOf(usage['output_tokens']) ?? Math.max(0, (givenTotal ?? 0) - input);
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
  return (
    counted(carrier['usage']) ??
    counted(objectOf(carrier['x_groq'])?.['usage']) ??
    counted(choiceOf(carrier)?.['usage'])
  );
}

/** The value as an object that holds a count. */
function counted(value: unknown): Loose | null {
  const usage = objectOf(value);
  if (usage === null) return null;
  for (const name in usage) if (countOf(usage[name]) !== null) return usage;
  return null;
}

function cachedTokens(usage: Loose): number {
  return (
    countOf(objectOf(usage['prompt_tokens_details'])?.['cached_tokens']) ??
    countOf(usage['prompt_cache_hit_tokens']) ?? // DeepSeek
    countOf(usage['cached_tokens']) ?? // Kimi
    countOf(usage['num_cached_tokens']) ?? // Mistral
    countOf(usage['cache_read_input_tokens']) ?? // Anthropic, LiteLLM
    countOf(objectOf(usage['input_tokens_details'])?.['cached_tokens']) ??
    0
  );
}

function cacheWrites(usage: Loose): number {
  return (
    countOf(usage['cache_creation_input_tokens']) ??
    countOf(objectOf(usage['prompt_tokens_details'])?.['cache_write_tokens']) ??
    countOf(objectOf(usage['input_tokens_details'])?.['cache_write_tokens']) ??
    0
  );
}

function reasoningTokens(usage: Loose): number {
  return (
    countOf(objectOf(usage['completion_tokens_details'])?.['reasoning_tokens']) ??
    countOf(usage['reasoning_tokens']) ?? // SGLang
    countOf(objectOf(usage['output_tokens_details'])?.['reasoning_tokens']) ??
    0
  );
}
