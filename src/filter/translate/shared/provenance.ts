import type { ChatCompletionRequest, Passthrough } from '../../wire/schema/chat-request.ts';
import type { CreateResponseEcho } from '../../wire/schema/response-resource.ts';

/**
 * Which fields of a request became which parts of the Chat request. `explain` gives the settings a trace, and the parser
 * then marks what it reads with its path; whatever is made of a marked object inherits the mark. In the service there is no
 * trace, and nothing is marked.
 */
export interface Trace {
  /** The path of what is being read: what is dropped meanwhile belongs to it. */
  field: string;
  /** Paths by the name under which they are dropped. */
  readonly droppedFrom: Map<string, Set<string>>;
  /** The items that set the effort or the text format in place of the request's own fields, and that asked for a summary. */
  readonly setBy: { effort?: `input[${number}]`; format?: string; summary?: string };
  /** The translated request before it is written as JSON: the marks are on its parts. Set when it is translated. */
  result: {
    readonly chat: ChatCompletionRequest;
    readonly passthrough: Passthrough;
    /** What the Response repeats. */
    readonly echo: CreateResponseEcho;
    readonly wantsEncryptedReasoning: boolean;
    readonly obfuscate: boolean;
  } | null;
}

export function createTrace(): Trace {
  return { field: '', droppedFrom: new Map(), setBy: {}, result: null };
}

/** Paths of the request by the key of the thing that they became; `''` is the thing as a whole. */
export type Sources = Readonly<Record<string, readonly string[]>>;

/** A symbol: JSON omits it, and a copy by spread keeps it. */
const madeOf = Symbol('made of');

interface Marked {
  [madeOf]?: Sources;
}

/** What the thing was made of; none where it is not marked. */
export function sourcesOf(thing: object): Sources {
  return (thing as Marked)[madeOf] ?? {};
}

/** Marks `made`, or one key of it, as read from that path. */
export function mark(made: object, source: string, key = ''): void {
  add(made, key, [source]);
}

/** Marks `made`, or one key of it, as made of `from`, if that is marked. */
export function carry(made: object, from: object, key?: string): void {
  const sources = (from as Marked)[madeOf];
  if (sources === undefined) return;
  for (const [own, paths] of Object.entries(sources)) add(made, key ?? own, paths);
}

function add(made: Marked, key: string, paths: readonly string[]): void {
  const before = made[madeOf] ?? {};
  const known = Object.hasOwn(before, key) ? (before[key] ?? []) : [];
  // A copy of a marked thing shares its marks until it has others.
  made[madeOf] = { ...before, [key]: [...new Set([...known, ...paths])] };
}

/** Notes that something was dropped under that name while the trace's field was read. */
export function noteDropped({ field, droppedFrom }: Trace, name: string): void {
  if (field === '') return;
  const fields = droppedFrom.get(name) ?? new Set();
  droppedFrom.set(name, fields.add(field));
}
