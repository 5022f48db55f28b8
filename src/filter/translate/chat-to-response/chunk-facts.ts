import { objectOf, textOf } from '../../../formats/json/loose.ts';
import type { ApiError } from '../../wire/schema/api-error.ts';
import type { LooseChunk, LooseMessage } from '../../wire/schema/chat-completion.ts';
import { findError } from './error.ts';
import { readChoices } from './read/choices.ts';
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

/** Facts of a chunk of a stream, or of a completion, from which `doctor` infers the flags of a server. */
export interface ChunkFacts {
  readonly error: ApiError | null;
  readonly hasChoice: boolean;
  readonly text: string;
  /** The names of fields that hold reasoning, even encrypted reasoning. */
  readonly reasoningFields: readonly string[];
  readonly logprobs: number;
  /** The `system_fingerprint`; `''` for none. */
  readonly fingerprint: string;
}

export function readChunkFacts(value: unknown): ChunkFacts {
  const chunk = objectOf<LooseChunk>(value) ?? {};
  const choice = readChoices(chunk)[0] ?? null;
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
