/** A type of item, part or tool that this version does not know: for the counter that tells operators what is new. */
export interface UnknownType {
  readonly kind: 'item' | 'part' | 'tool';
  readonly type: string;
}

/** More names than a log line or a header would ever show. */
const maxNames = 1000;

/**
 * What is left out of a request, each once: `input[3].web_search_call` for an item, `input[].phase` for a key, whatever
 * item it is a key of. Agents repeat their whole history, and with it the same keys, in each request.
 */
export class Dropped {
  readonly #names = new Set<string>();
  readonly #unknown = new Map<string, UnknownType>();

  /** `path` is safe for a header once it has been through here. */
  push(path: string): void {
    if (this.#names.size < maxNames) this.#names.add(headerSafe(path));
  }

  /** The keys of `value` that are neither in `known` nor clients' own records; `null` says nothing, and is not named. */
  pushUnknownKeys(value: Readonly<Record<string, unknown>>, known: ReadonlySet<string>, path: string): void {
    for (const key in value) {
      if (!known.has(key) && !records.has(key) && value[key] != null) this.push(`${path}.${key.slice(0, 100)}`);
    }
  }

  pushUnknownType(unknown: UnknownType, path: string): void {
    if (this.#unknown.size < maxNames) this.#unknown.set(`${unknown.kind} ${unknown.type}`, unknown);
    this.push(`${path}.${unknown.type.slice(0, 100)}`);
  }

  names(): readonly string[] {
    return [...this.#names];
  }

  unknownTypes(): readonly UnknownType[] {
    return [...this.#unknown.values()];
  }
}

/** Keys with which servers and clients identify and file things; no model is ever shown them. */
const records = new Set([
  'id',
  'status',
  'type',
  'created_by',
  'created_at',
  'caller',
  'client_metadata',
  'internal_chat_message_metadata_passthrough',
]);

/** Clients choose the names of fields; a header takes printable ASCII, and the list is separated by commas. */
function headerSafe(path: string): string {
  return path.slice(0, 300).replaceAll(/[^\x21-\x7e]|,/g, '?');
}
