import { ownCopy } from './held-bytes.ts';
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
  /** Keys that are named, by place. */
  readonly #keys = new Map<string, Set<string>>();
  readonly #provenance: Provenance;

  /** `provenance` is told which field each name is dropped from. */
  constructor(provenance: Provenance) {
    this.#provenance = provenance;
  }

  /** Cuts `path`, and makes it safe for a header. */
  push(path: string): void {
    const name = headerSafe(path);
    if (this.#names.size < maxNames && !this.#names.has(name)) this.#names.add(ownCopy(name));
    this.#provenance.dropped(name);
  }

  /**
   * A key of the objects at `place`, `input[].content[]`. One that was named is not made a path again: of three in an item, that takes
   * as long as the item itself.
   */
  pushKey(place: string, key: string): void {
    if (this.#isNew(place, key)) this.push(`${place}.${key}`);
  }

  #isNew(place: string, key: string): boolean {
    if (this.#provenance.isRecorded) return true;
    const named = this.#keys.get(place) ?? new Set<string>();
    if (named.has(key) || named.size >= maxNames) return false;
    this.#keys.set(place, named.add(key));
    return true;
  }

  pushUnknownType({ kind, type }: UnknownType, path: string): void {
    const name = `${kind} ${type.slice(0, maxNameLength)}`;
    if (this.#unknown.size < maxNames && !this.#unknown.has(name))
      this.#unknown.set(ownCopy(name), { kind, type: ownCopy(type.slice(0, maxNameLength)) });
    this.push(`${path}.${type}`);
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

/** Clients choose the names of fields; a header takes printable ASCII, and the list is separated by commas. */
function headerSafe(path: string): string {
  return path.slice(0, maxNameLength).replaceAll(/[^\x21-\x7e]|,/g, '?');
}
