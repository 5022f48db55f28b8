import { objectOf, textOf } from '../../../formats/json/loose.ts';
import type { ApiError } from '../../wire/schema/api-error.ts';
import type { LooseChunk, LooseMessage } from '../../wire/schema/chat-completion.ts';
import { findError } from './error.ts';
import { choiceOf } from './read/choices.ts';
import { readLogprobs } from './read/logprobs.ts';
import { readReasoning } from './read/reasoning-source.ts';

const fieldsOfReasoning = [
  'reasoning_content',
  'reasoning',
  'reasoning_details',
  'content',
  'thinking',
  'thinking_blocks',
] as const;

/** Facts of a chunk of a stream, or of a completion: `doctor` infers the flags of a server from them. */
export interface ChunkFacts {
  /** The error that stands in place of an answer; null for none. */
  readonly error: ApiError | null;
  readonly hasChoice: boolean;
  /** The text of the delta, reasoning in tags included. */
  readonly text: string;
  /** The fields that hold reasoning, which may be hidden. */
  readonly reasoningFields: readonly string[];
  /** Tokens that have a logprob. */
  readonly logprobs: number;
  /** `''` without one. */
  readonly fingerprint: string;
}

/** The facts of a chunk, read as the translation does. */
export function readChunkFacts(value: unknown): ChunkFacts {
  const chunk = objectOf<LooseChunk>(value) ?? {};
  const choice = choiceOf(chunk);
  const delta = objectOf<LooseMessage>(choice?.delta);
  const message = delta ?? objectOf<LooseMessage>(choice?.message);
  return {
    error: findError(value),
    hasChoice: choice !== null,
    text: textOf(delta?.content),
    reasoningFields: fieldsOfReasoning.filter((field) => {
      const { text, details } = readReasoning({ [field]: message?.[field] });
      return text !== '' || details.length > 0;
    }),
    logprobs: readLogprobs(choice?.logprobs).length,
    fingerprint: textOf(chunk.system_fingerprint),
  };
}
