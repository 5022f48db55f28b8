import { arrayOf, objectOf } from '../../../../formats/json/loose.ts';
import {
  choiceFields,
  chunkFields,
  type LooseChoice,
  type LooseChunk,
  type LooseMessage,
  messageKinds,
} from '../../../wire/schema/chat-completion.ts';
import type { UnknownType } from '../../shared/dropped.ts';
import { type Extensions, maxNameLength, maxNames } from './extensions.ts';

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
