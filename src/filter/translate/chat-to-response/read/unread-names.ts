import { arrayOf, objectOf, textOf } from '../../../../formats/json/loose.ts';
import {
  choiceFields,
  chunkFields,
  type LooseAudio,
  type LooseChoice,
  type LooseChunk,
  type LooseGroqExtras,
  type LooseMessage,
  type LooseTokenDetails,
  type LooseUsage,
  messageKinds,
  tokenDetailsFields,
  usageFields,
} from '../../../wire/schema/chat-completion.ts';
import type { UnknownType } from '../../shared/dropped.ts';
import { ownCopy } from '../../shared/held-bytes.ts';
import { findUnreadAnnotations } from './citations.ts';
import { findUnreadParts } from './content-parts.ts';
import { type ExtensionPlace, type Extensions, maxNameLength, maxNames, measureExtensionPart } from './extensions.ts';
import { readModeration } from './moderation.ts';

const detailPlaces = [
  ['prompt_tokens_details', 'input_tokens_details'],
  ['prompt_token_details', 'input_tokens_details'],
  ['input_tokens_details', 'input_tokens_details'],
  ['completion_tokens_details', 'output_tokens_details'],
  ['output_tokens_details', 'output_tokens_details'],
] as const;

/** Collects the names of events, fields and content parts of an answer that nothing reads and the client does not get. */
export class UnreadNames {
  /** Keeps fields of the upstream's own for the client; null where the client gets none. */
  readonly #keeper: Extensions | null;
  #found: Map<string, UnknownType> | null = null;

  constructor(keeper: Extensions | null) {
    this.#keeper = keeper;
  }

  addEvent(name: string): void {
    this.#add('event', name);
  }

  /** Adds the fields of a completion or a chunk. Those that are null or `''` do not count: a chunk that is not parsed may have them. */
  addFields(chunk: LooseChunk): void {
    // A chunk without choices may be an error in words, whose fields may hold credentials.
    const keeper = Array.isArray(chunk.choices) ? this.#keeper : null;
    this.#fields(chunk, chunkFields, '', keeper, 'response');
    this.#usage(chunk.usage, keeper);
    if (chunk.x_groq != null) this.#usage(objectOf<LooseGroqExtras>(chunk.x_groq)?.usage, keeper);
    const verdicts = readModeration(chunk.moderation);
    const isKept = verdicts !== null && this.#keeper?.keepOurs('moderation', verdicts);
    if (chunk.moderation != null && !isKept) this.#add('field', 'moderation');
    for (const entry of arrayOf(chunk.choices)) {
      const choice = objectOf<LooseChoice>(entry);
      if (choice === null) continue;
      this.#fields(choice, choiceFields, 'choices[].', keeper, 'response');
      this.#usage(choice.usage, keeper);
      this.#message(objectOf<LooseMessage>(choice.message), keeper);
      this.#message(objectOf<LooseMessage>(choice.delta), keeper);
    }
  }

  names(): readonly UnknownType[] {
    return this.#found === null ? [] : [...this.#found.values()];
  }

  #message(message: LooseMessage | null, keeper: Extensions | null): void {
    if (message === null) return;
    this.#fields(message, messageKinds, 'message.', keeper, 'response');
    for (const part of findUnreadParts(message.content))
      if (!keeper?.passesAll || measureExtensionPart(part) === null) this.#add('part', textOf(part.type));
    for (const type of findUnreadAnnotations(message.annotations)) this.#add('field', `message.annotations[].${type}`);
    // A Response has no item for sounds; their transcript is its text.
    if (message.audio != null && textOf(objectOf<LooseAudio>(message.audio)?.data) !== '')
      this.#add('field', 'message.audio.data');
  }

  /** Counts of 0, which many servers send, are no unread names. */
  #usage(value: unknown, keeper: Extensions | null): void {
    const usage = objectOf<LooseUsage>(value);
    if (usage === null) return;
    this.#fields(usage, usageFields, 'usage.', keeper, 'usage');
    for (const [name, place] of detailPlaces) {
      const details = objectOf<LooseTokenDetails>(usage[name]);
      if (details !== null) this.#fields(details, tokenDetailsFields, `usage.${name}.`, keeper, place);
    }
  }

  #fields(value: object, known: object, path: string, keeper: Extensions | null, place: ExtensionPlace): void {
    for (const name in value) {
      if (Object.hasOwn(known, name)) continue;
      const field = (value as Record<string, unknown>)[name];
      if (field === null || field === '' || (field === 0 && place !== 'response')) continue;
      if (keeper?.keep(name, field, place)) continue;
      this.#add('field', path + name);
    }
  }

  #add(kind: UnknownType['kind'], name: string): void {
    this.#found ??= new Map();
    if (this.#found.size >= maxNames) return;
    const type = name.slice(0, maxNameLength);
    const key = `${kind} ${type}`;
    if (!this.#found.has(key)) this.#found.set(ownCopy(key), { kind, type: ownCopy(type) });
  }
}
