import { countOf, objectOf } from '../../../../formats/json/loose.ts';
import type { Profile } from '../../../upstream/profile.ts';
import type {
  LooseChunk,
  LooseGroqExtras,
  LooseTokenDetails,
  LooseUsage,
} from '../../../wire/schema/chat-completion.ts';
import { tokenDetailsFields, usageFields } from '../../../wire/schema/chat-completion.ts';
import type { Usage } from '../../../wire/schema/response-resource.ts';
import type { Repair } from '../../shared/context.ts';
import { readChoices } from './choices.ts';

export const noUsage: Usage = {
  input_tokens: 0,
  input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
  output_tokens: 0,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 0,
};

const countNames = Object.keys(usageFields) as (keyof LooseUsage)[];
const detailNames = [...Object.keys(tokenDetailsFields), 'audio_tokens'] as (keyof LooseTokenDetails)[];

/**
 * Joins the usages of a stream. Counts are cumulative: one stands until a later one that is not 0 replaces it. Gateways in front of Claude send
 * the prompt's in the first chunk and the answer's in the last. Names that `readUsage` does not read are dropped.
 */
export function joinUsage(before: LooseUsage | null, later: LooseUsage): LooseUsage {
  const joined: { -readonly [Name in keyof LooseUsage]: unknown } = {};
  for (const name of countNames) {
    const [earlier, value] = [before?.[name], later[name]];
    if (earlier == null && value == null) continue;
    const details = detailsOf(value);
    if (details === null) joined[name] = detailsOf(earlier) ?? laterCount(earlier, value);
    else joined[name] = countOf(earlier) ?? joinDetails(detailsOf(earlier), details);
  }
  // A total without the prompt is not the total of the answer.
  if (before !== null && promptOf(before) && !promptOf(later)) joined.total_tokens = null;
  return joined;
}

function joinDetails(before: LooseTokenDetails | null, later: LooseTokenDetails): LooseTokenDetails {
  const joined: { -readonly [Name in keyof LooseTokenDetails]: unknown } = {};
  for (const name of detailNames) {
    const count = laterCount(before?.[name], later[name]);
    if (count !== null) joined[name] = count;
  }
  return joined;
}

function laterCount(earlier: unknown, later: unknown): number | null {
  return countOf(later) || (countOf(earlier) ?? countOf(later));
}

function promptOf(usage: LooseUsage): number | null {
  return countOf(usage.prompt_tokens) ?? countOf(usage.input_tokens);
}

/**
 * Reads the counts in any vendor's spelling (docs/answers.md §1.7); null for none. The result never contradicts itself: no part is
 * more than its whole, and input and output are the total. `repairs` notes counts that did.
 */
export function readUsage(
  usage: LooseUsage | null,
  profile: Pick<Profile, 'reasoningTokensExtra'>,
  repairs: Set<Repair>,
): Usage | null {
  if (usage === null) return null;
  const givenPrompt = promptOf(usage);
  const prompt = givenPrompt ?? 0;
  const total = countOf(usage.total_tokens);
  const reasoning = reasoningTokens(usage);
  const completion =
    countOf(usage.completion_tokens) ?? countOf(usage.output_tokens) ?? Math.max(0, (total ?? 0) - prompt);
  // xAI counts reasoning beside the completion, the Responses API within it. The total shows which, behind any gateway.
  const isExtra = profile.reasoningTokensExtra || total === prompt + completion + reasoning;
  const listed = isExtra ? completion + reasoning : completion;
  const [cached, written] = [cachedTokens(usage), cacheWrites(usage)];
  const beside = besideThePrompt(usage, { prompt, output: listed, total, cache: cached + written });
  const input = prompt + beside;
  // Where an endpoint of Gemini lists no details, thinking is in the total alone.
  const unlisted = givenPrompt === null || total === null ? 0 : Math.max(0, total - input - listed);
  const output = listed + unlisted;
  if (cached + written > prompt || reasoning > output || (total !== null && total !== input + listed))
    repairs.add('usage');
  const read = Math.min(cached, input); // xAI counts whole blocks
  return {
    input_tokens: input,
    input_tokens_details: {
      cached_tokens: read,
      cache_write_tokens: written > input - read ? 0 : written, // openai-python requires it
    },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: reasoning > output ? 0 : reasoning },
    total_tokens: input + output,
  };
}

/**
 * Returns the tokens that the prompt's count leaves out: those in Anthropic's cache, or Mistral's sounds. The total shows it; without a
 * total, or under Anthropic's names, more tokens in the cache than in the prompt prove it (litellm#40277).
 */
function besideThePrompt(
  usage: LooseUsage,
  { prompt, output, total, cache }: { prompt: number; output: number; total: number | null; cache: number },
): number {
  if (cache > 0 && total === prompt + output + cache) return cache;
  const { cache_read_input_tokens: reads, cache_creation_input_tokens: writes } = usage;
  if (cache > prompt && (total === null || countOf(reads) !== null || countOf(writes) !== null)) return cache;
  const sounds = countOf(detailsOf(usage.prompt_tokens_details)?.audio_tokens) ?? 0;
  return total === prompt + output + sounds ? sounds : 0;
}

/** The counts of a completion or a chunk: its own, Groq's `x_groq.usage` or Kimi's `choices[0].usage`. Null for none, and for `{}`. */
export function findUsage(carrier: LooseChunk): LooseUsage | null {
  return (
    counted(carrier.usage) ??
    counted(objectOf<LooseGroqExtras>(carrier.x_groq)?.usage) ??
    counted(readChoices(carrier)[0]?.usage)
  );
}

function counted(value: unknown): LooseUsage | null {
  const usage = objectOf<LooseUsage>(value);
  if (usage === null) return null;
  for (const name in usage) if (countOf(usage[name as keyof LooseUsage]) !== null) return usage;
  return null;
}

function detailsOf(details: unknown): LooseTokenDetails | null {
  return objectOf<LooseTokenDetails>(details);
}

function cachedTokens(usage: LooseUsage): number {
  return (
    countOf(detailsOf(usage.prompt_tokens_details)?.cached_tokens) ??
    countOf(detailsOf(usage.prompt_token_details)?.cached_tokens) ?? // Mistral
    countOf(usage.prompt_cache_hit_tokens) ?? // DeepSeek
    countOf(usage.cached_tokens) ?? // Kimi
    countOf(usage.num_cached_tokens) ?? // Mistral
    countOf(usage.cache_read_input_tokens) ?? // Anthropic, LiteLLM
    countOf(usage.cache_read_tokens) ?? // cli2api
    countOf(detailsOf(usage.input_tokens_details)?.cached_tokens) ??
    0
  );
}

function cacheWrites(usage: LooseUsage): number {
  return (
    countOf(usage.cache_creation_input_tokens) ?? // Anthropic
    countOf(detailsOf(usage.prompt_tokens_details)?.cache_write_tokens) ??
    countOf(detailsOf(usage.prompt_tokens_details)?.cache_creation_tokens) ?? // LiteLLM
    countOf(detailsOf(usage.prompt_tokens_details)?.cache_creation_input_tokens) ?? // DashScope
    countOf(detailsOf(usage.input_tokens_details)?.cache_write_tokens) ??
    0
  );
}

function reasoningTokens(usage: LooseUsage): number {
  return (
    countOf(detailsOf(usage.completion_tokens_details)?.reasoning_tokens) ??
    countOf(usage.reasoning_tokens) ?? // SGLang
    countOf(detailsOf(usage.output_tokens_details)?.reasoning_tokens) ??
    0
  );
}
