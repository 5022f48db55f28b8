import type { LooseChoice, LooseChunk, LooseMessage } from '../../wire/schema/chat-completion.ts';
import type { UnknownType } from '../request/dropped.ts';
import { type Extensions, maxNameLength, maxNames } from '../response/extensions.ts';
import { messageKinds } from './choices.ts';
import { arrayOf, objectOf } from './loose.ts';

/** The fields that are known, whether or not anything is made of them: each is in the type, and each of the type's is here. */
const chunkFields = {
  ...{ id: 0, object: 0, created: 0, model: 0, system_fingerprint: 0, service_tier: 0, choices: 0, usage: 0 },
  ...{ obfuscation: 0, error: 0, type: 0, base_resp: 0, x_groq: 0, search_results: 0, citations: 0 },
} satisfies Record<keyof LooseChunk, 0>;
const choiceFields = {
  ...{ index: 0, message: 0, delta: 0, finish_reason: 0, logprobs: 0, usage: 0, error: 0 },
} satisfies Record<keyof LooseChoice, 0>;

/** Names of events and fields of an answer that nothing here reads and the client does not get. */
export class UnreadNames {
  /** Null where the client gets none. */
  readonly #keeper: Extensions | null;
  // Most answers have none.
  #found: Map<string, UnknownType> | null = null;

  constructor(keeper: Extensions | null) {
    this.#keeper = keeper;
  }

  event(name: string): void {
    this.#add('event', name);
  }

  /** A completion or a chunk. Fields that are null or `''` say nothing: a chunk that is not parsed may have them. */
  fieldsOf(chunk: LooseChunk): void {
    // Without choices it may be an error in words, which clients get with credentials removed.
    const keeper = Array.isArray(chunk.choices) ? this.#keeper : null;
    this.#fields(chunk, chunkFields, '', keeper);
    for (const entry of arrayOf(chunk.choices)) {
      const choice = objectOf<LooseChoice>(entry);
      if (choice === null) continue;
      this.#fields(choice, choiceFields, 'choices[].', keeper);
      this.#fields(objectOf<LooseMessage>(choice.message) ?? {}, messageKinds, 'message.', keeper);
      this.#fields(objectOf<LooseMessage>(choice.delta) ?? {}, messageKinds, 'message.', keeper);
    }
  }

  names(): readonly UnknownType[] {
    return this.#found === null ? [] : [...this.#found.values()];
  }

  #fields(value: object, known: object, path: string, keeper: Extensions | null): void {
    for (const name in value) {
      if (Object.hasOwn(known, name)) continue;
      const field = (value as Record<string, unknown>)[name];
      if (field === null || field === '' || keeper?.keep(name, field)) continue;
      this.#add('field', path + name);
    }
  }

  #add(kind: UnknownType['kind'], name: string): void {
    this.#found ??= new Map();
    if (this.#found.size >= maxNames) return;
    const type = name.slice(0, maxNameLength);
    this.#found.set(`${kind} ${type}`, { kind, type });
  }
}
