import type { ChatCompletionRequest, Passthrough } from '../../wire/schema/chat-request.ts';
import type { CreateResponseEcho } from '../../wire/schema/response-resource.ts';

/** A field that an item may set in place of the request's own. */
export type Replaced = 'reasoning.effort' | 'text.format';
export type ItemPath = `input[${number}]`;

/**
 * Learns which fields of a request become which parts of the Chat request: what is read is marked with its path, and whatever is made
 * of a marked object inherits the mark (`carry`). This class records nothing, as the service needs; `explain` records everything.
 */
export class Provenance {
  /** Every dropped key is reported, not only the first of its kind. */
  readonly isRecorded: boolean = false;

  /** Takes the request's body as it was read: what follows is about it. */
  begin(_body: unknown): void {}

  /** Begins to read the value at that path: what is dropped from now on belongs to it. `''` for none. */
  reading(_path: string): void {}

  dropped(_name: string): void {}

  /** `made`, or one key of it, was read from that path; `''` for none. */
  mark(_made: object, _path: string, _key?: string): void {}

  /** `made` was read from the value that is being read. */
  markAsRead(_made: object): void {}

  /** `made` was read from that element of a list. */
  markElement(_made: object, _list: string, _index: number): void {}

  /** The item at `path` sets that field in place of the request's own. */
  replace(_field: Replaced, _path: ItemPath): void {}

  /** The path of that field, or of what replaced it. */
  pathOf(field: Replaced): Replaced | ItemPath {
    return field;
  }

  /** The item at `path` asks for a summary. */
  asksForSummary(_path: string): void {}

  /** The path of the item that asks for a summary; `''` for none. */
  summaryPath(): string {
    return '';
  }

  /** Takes the translated request as objects, since `mark` has noted objects, which its JSON no longer has. */
  finish(_result: RecordedResult): void {}
}

export interface RecordedResult {
  readonly chat: ChatCompletionRequest;
  readonly passthrough: Passthrough;
  readonly echo: CreateResponseEcho;
  readonly wantsEncryptedReasoning: boolean;
  readonly obfuscate: boolean;
}

export const nothingRecorded = new Provenance();

export class RecordedProvenance extends Provenance {
  override readonly isRecorded = true;
  /** Undefined where the body could not be read. */
  body: unknown;
  /** Paths by the name under which they are dropped. */
  readonly droppedFrom = new Map<string, Set<string>>();
  /** Null until the request is translated. */
  result: RecordedResult | null = null;
  readonly #replaced = new Map<Replaced, ItemPath>();
  #path = '';
  #summaryPath = '';

  override begin(body: unknown): void {
    this.body = body;
  }

  override reading(path: string): void {
    this.#path = path;
  }

  override dropped(name: string): void {
    if (this.#path === '') return;
    const paths = this.droppedFrom.get(name) ?? new Set();
    this.droppedFrom.set(name, paths.add(this.#path));
  }

  override mark(made: object, path: string, key = ''): void {
    if (path !== '') add(made, key, [path]);
  }

  override markAsRead(made: object): void {
    this.mark(made, this.#path);
  }

  override markElement(made: object, list: string, index: number): void {
    this.mark(made, `${list}[${index}]`);
  }

  override replace(field: Replaced, path: ItemPath): void {
    this.#replaced.set(field, path);
  }

  override pathOf(field: Replaced): Replaced | ItemPath {
    return this.#replaced.get(field) ?? field;
  }

  override asksForSummary(path: string): void {
    this.#summaryPath = path;
  }

  override summaryPath(): string {
    return this.#summaryPath;
  }

  override finish(result: RecordedResult): void {
    this.result = result;
  }

  /** The paths of which the thing was made; none where it is not marked. */
  static sourcesOf(thing: object): Sources {
    const marks = Object.entries((thing as Marked)[madeOf] ?? {});
    return Object.fromEntries(marks.map(([key, paths]) => [key, eachOnce(paths)]));
  }
}

/** Paths of the request by the key of the thing that they became; `''` is the thing as a whole. */
export type Sources = Readonly<Record<string, readonly string[]>>;

/** JSON omits a symbol, and a copy by spread keeps it. */
const madeOf = Symbol('made of');

interface Marked {
  [madeOf]?: Readonly<Record<string, Paths>>;
}

/** Paths, and the paths of other things. A list of paths is never added to: what many messages become would copy all paths for each. */
type Paths = readonly (string | Paths)[];

/** Marks `made`, or one key of it, as made of `from`, if that is marked. */
export function carry(made: object, from: object, key?: string): void {
  const sources = (from as Marked)[madeOf];
  if (sources === undefined) return;
  for (const [own, paths] of Object.entries(sources)) add(made, key ?? own, paths);
}

/** Marks keys of `made` as made of keys of what `from` was read from: of the same keys, or of those in `other`, by their names in `made`. */
export function carryKeys(
  made: object,
  from: object,
  same: readonly string[],
  other: Readonly<Record<string, string>> = {},
): void {
  const paths = (from as Marked)[madeOf]?.[''];
  if (paths === undefined) return;
  const pairs = [...same.map((key) => [key, key] as const), ...Object.entries(other)];
  for (const [key, own] of pairs) {
    const below = eachOnce(paths).map((path) => `${path}.${own}`);
    add(made, key, below);
  }
}

function add(made: Marked, key: string, paths: Paths): void {
  const before = made[madeOf] ?? {};
  const known = Object.hasOwn(before, key) ? before[key] : undefined;
  // A copy of a marked thing shares its marks until it has others.
  made[madeOf] = { ...before, [key]: known === undefined ? paths : [known, paths] };
}

function eachOnce(paths: Paths): readonly string[] {
  const found = new Set<string>();
  const read = new Set<Paths>();
  const left: (string | Paths)[] = [paths];
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    if (typeof next === 'string') found.add(next);
    else if (!read.has(next)) {
      read.add(next);
      left.push(...next.toReversed());
    }
  }
  return [...found];
}
