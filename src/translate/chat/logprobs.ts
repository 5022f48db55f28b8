import { arrayOf, objectOf } from '../../schema/chat-completion.ts';
import type { Logprob, TopLogprob } from '../../schema/response-resource.ts';

/** Stands in for minus infinity, null and whatever else is no number: the API's own floor. */
const FLOOR = -9999;

/** `choices[0].logprobs` of a completion or a chunk as the API writes them (docs/answers.md §2.8); empty if there are none. */
export function logprobsOf(logprobs: unknown): Logprob[] {
  const tokens: Logprob[] = [];
  for (const value of arrayOf(objectOf(logprobs)?.['content'])) {
    const token = topLogprobOf(value);
    if (token === null) continue;
    const others = arrayOf(objectOf(value)?.['top_logprobs']).map(topLogprobOf);
    tokens.push({ ...token, top_logprobs: others.filter((other) => other !== null) });
  }
  return tokens;
}

function topLogprobOf(value: unknown): TopLogprob | null {
  const entry = objectOf(value);
  if (entry === null || typeof entry['token'] !== 'string') return null;
  const { token, logprob, bytes } = entry;
  return {
    token,
    logprob: typeof logprob === 'number' && Number.isFinite(logprob) ? Math.max(logprob, FLOOR) : FLOOR,
    // llama.cpp and Ollama leave `bytes` out; the schema wants it.
    bytes: isBytes(bytes) ? bytes : [...Buffer.from(token)],
  };
}

function isBytes(value: unknown): value is readonly number[] {
  return Array.isArray(value) && value.every((byte) => Number.isInteger(byte));
}
