import { objectOf, objectsOf } from '../../../../formats/json/loose.ts';
import type { LooseLogprobs, LooseTokenLogprob } from '../../../wire/schema/chat-completion.ts';
import type { Logprob, TopLogprob } from '../../../wire/schema/response-resource.ts';

/** Replaces minus infinity, null and anything else that is not a number: the API's own floor. */
const minLogprob = -9999;

/** `choices[0].logprobs` of a completion or a chunk as the API writes them (docs/answers.md §1.8); empty if there are none. */
export function logprobsOf(logprobs: unknown): Logprob[] {
  return objectsOf<LooseTokenLogprob>(objectOf<LooseLogprobs>(logprobs)?.content).flatMap((entry) => {
    const token = topLogprobOf(entry);
    const others = objectsOf<LooseTokenLogprob>(entry.top_logprobs).map(topLogprobOf);
    return token === null ? [] : { ...token, top_logprobs: others.filter((other) => other !== null) };
  });
}

function topLogprobOf({ token, logprob, bytes }: LooseTokenLogprob): TopLogprob | null {
  if (typeof token !== 'string') return null;
  return {
    token,
    logprob: typeof logprob === 'number' && Number.isFinite(logprob) ? Math.max(logprob, minLogprob) : minLogprob,
    // llama.cpp and Ollama leave `bytes` out; the schema wants it.
    bytes: Array.isArray(bytes) && bytes.every((byte) => Number.isInteger(byte)) ? bytes : [...Buffer.from(token)],
  };
}
