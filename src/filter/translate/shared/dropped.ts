import type { ExtensionKeys } from '../../wire/schema/chat-request.ts';
import type { Provenance } from './provenance.ts';
import type { TranslationSettings } from './settings.ts';

/** The arguments that every function gets which reads or translates a part of a request. */
export interface Reading {
  readonly settings: TranslationSettings;
  /** Receives the paths of what is left out. */
  readonly dropped: Dropped;
  /** Is told what becomes of each field. */
  readonly provenance: Provenance;
}

/** A type of item, part or tool that this version does not know, or an event or a field of an answer: for the counter that tells operators what is new. */
export interface UnknownType {
  readonly kind: 'item' | 'part' | 'tool' | 'event' | 'field';
  readonly type: string;
}

/** Maximum number of names, above what a log line or a header shows. */
const maxNames = 1000;
/** Characters of a name: clients choose those of fields, and they may be of any length. */
const maxNameLength = 300;

/**
 * The names of what is left out of a request, each once: `input[3].web_search_call` for an item, `input[].phase` for a key,
 * whatever item it is a key of. Agents repeat their whole history, and with it the same keys, in each request.
 */
export class Dropped {
  readonly #names = new Set<string>();
  readonly #unknown = new Map<string, UnknownType>();
  readonly #keys = new Map<ReadonlySet<string>, Set<string>>();
  readonly #provenance: Provenance;

  /** `provenance` is told which field each name is dropped from. */
  constructor(provenance: Provenance) {
    this.#provenance = provenance;
  }

  /** Cuts `path`, and makes it safe for a header. */
  push(path: string): void {
    const name = headerSafe(path);
    if (this.#names.size < maxNames) this.#names.add(name);
    this.#provenance.dropped(name);
  }

  /**
   * The keys of `value` that are not in `known`, which is one set for all values of a kind; null ones say nothing, and are not
   * named, nor those that are `passed` on. A key that was named is not made a path again: of three in an item, that takes as
   * long as the item itself.
   */
  pushUnknownKeys(
    value: Readonly<Record<string, unknown>>,
    known: ReadonlySet<string>,
    path: string,
    passed: ExtensionKeys | null = null,
  ): void {
    for (const key in value) {
      if (known.has(key) || value[key] == null || (passed !== null && Object.hasOwn(passed, key))) continue;
      if (this.#isNew(key, known)) this.push(`${path}.${key}`);
    }
  }

  #isNew(key: string, known: ReadonlySet<string>): boolean {
    if (this.#provenance.isRecorded) return true;
    const named = this.#keys.get(known) ?? new Set<string>();
    if (named.has(key) || named.size >= maxNames) return false;
    this.#keys.set(known, named.add(key));
    return true;
  }

  pushUnknownType(unknown: UnknownType, path: string): void {
    if (this.#unknown.size < maxNames) this.#unknown.set(`${unknown.kind} ${unknown.type}`, unknown);
    this.push(`${path}.${unknown.type}`);
  }

  /** Is that path, of a field or of a key in one, left out? */
  has(path: string): boolean {
    return this.#names.has(path);
  }

  names(): readonly string[] {
    return [...this.#names];
  }

  unknownTypes(): readonly UnknownType[] {
    return [...this.#unknown.values()];
  }
}

/** Keys with which servers and clients identify things; models never see them. */
const records = [
  'id',
  'status',
  'type',
  'created_by',
  'created_at',
  'caller',
  'client_metadata',
  'internal_chat_message_metadata_passthrough',
];

/** The keys of one kind of value that are read, with those that only its sender reads. */
export function knownKeys(...names: readonly string[]): ReadonlySet<string> {
  return new Set([...names, ...records]);
}

/** Clients choose the names of fields; a header takes printable ASCII, and the list is separated by commas. */
function headerSafe(path: string): string {
  return path.slice(0, maxNameLength).replaceAll(/[^\x21-\x7e]|,/g, '?');
}
