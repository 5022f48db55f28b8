import { ownCopy } from './held-bytes.ts';
import type { Provenance } from './provenance.ts';
import type { TranslationSettings } from './settings.ts';

/** What every function gets that reads or translates a part of a request. */
export interface Reading {
  readonly settings: TranslationSettings;
  readonly dropped: Dropped;
  readonly provenance: Provenance;
}

/** A type of item, part or tool, an event or a field that this version does not know: a counter tells operators what is new. */
export interface UnknownType {
  readonly kind: 'item' | 'part' | 'tool' | 'event' | 'field';
  readonly type: string;
}

/** Maximum number of names, above what a log line or a header shows. */
const maxNames = 1000;
/** Maximum characters of a name: clients choose the names of fields, and they may be of any length. */
const maxNameLength = 300;

/**
 * The names of what is left out of a request, each once: `input[3].web_search_call` for an item, `input[].phase` for a key of any item.
 * Agents repeat their whole history, and with it the same keys, in each request.
 */
export class Dropped {
  readonly #names = new Set<string>();
  readonly #unknown = new Map<string, UnknownType>();
  readonly #keys = new Map<string, Set<string>>();
  readonly #provenance: Provenance;

  constructor(provenance: Provenance) {
    this.#provenance = provenance;
  }

  /** Adds a path, cut and made safe for a header. */
  push(path: string): void {
    const name = headerSafe(path);
    if (this.#names.size < maxNames && !this.#names.has(name)) this.#names.add(ownCopy(name));
    this.#provenance.dropped(name);
  }

  /** Adds a key of the objects at `place`, `input[].content[]`. To make a path of it each time would take as long as reading the item. */
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

  /** Is that path left out, of a field or of a key in one? */
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
