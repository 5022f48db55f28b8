import { objectOf, textOf } from '../../../formats/json/loose.ts';
import type { LooseChunk, LooseMessage } from '../../wire/schema/chat-completion.ts';
import { errorOfValue } from './error.ts';
import { choiceOf } from './read/choices.ts';
import { logprobsOf } from './read/logprobs.ts';
import { reasoningOf } from './read/reasoning-source.ts';

const fieldsOfReasoning = [
  'reasoning_content',
  'reasoning',
  'reasoning_details',
  'content',
  'thinking',
  'thinking_blocks',
] as const;

/** Facts of a chunk of a stream, or of a completion, read as the translation does: `doctor` infers the flags of a server from them. */
export function factsOfChunk(value: unknown) {
  const chunk = objectOf<LooseChunk>(value) ?? {};
  const choice = choiceOf(chunk);
  const delta = objectOf<LooseMessage>(choice?.delta);
  const message = delta ?? objectOf<LooseMessage>(choice?.message);
  return {
    /** The error that stands in place of an answer; null for none. */
    error: errorOfValue(value),
    hasChoice: choice !== null,
    /** The text of the delta, reasoning in tags included. */
    text: textOf(delta?.content),
    /** The fields that hold reasoning, which may be hidden. */
    reasoningFields: fieldsOfReasoning.filter((field) => {
      const { text, details } = reasoningOf({ [field]: message?.[field] });
      return text !== '' || details.length > 0;
    }),
    /** Tokens that have a logprob. */
    logprobs: logprobsOf(choice?.logprobs).length,
    /** `''` without one. */
    fingerprint: textOf(chunk.system_fingerprint),
  };
}
