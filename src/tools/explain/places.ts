import { RecordedProvenance } from '../../filter/index.ts';
import { isWithin } from '../../formats/json/paths.ts';
import { isSame, type Path, pathText, recordOf, valueAt } from './fields.ts';

/** A part of what the upstream gets, with the paths of the request that it was made of. */
export interface Place {
  /** In the Chat request; `header accept` and `path` are names of one step. */
  readonly path: Path;
  readonly value: unknown;
  readonly sources: readonly string[];
}

export type Places = ReturnType<typeof placesIn>;

/** The marked parts of a translated request, and `others`; only those that `body` has as sent. */
export function placesIn({ result }: RecordedProvenance, body: unknown, others: readonly Place[]) {
  const engine = Object.entries(RecordedProvenance.sourcesOf(result?.passthrough ?? {}));
  const marked = [...markedIn(result?.chat ?? {}, []), ...engine.map(([name, sources]) => ({ path: [name], sources }))]
    .map((place) => ({ ...place, value: valueAt(body, place.path) }))
    .filter(({ value }) => value !== undefined);
  const sourced = [...marked, ...others].flatMap((place) => place.sources.map((source) => ({ source, place })));
  /** By place and element of the request, such as `input[3]`, the first of its keys that the place was made of. */
  const keysOfPath = new Map(marked.map(({ path, sources }) => [pathText(path), keysByElement(sources)]));
  const byRoot = Map.groupBy(sourced, ({ source }) => rootOf(source));

  /** Where that field can be seen: what it, or a part of it, became. */
  function of(field: Path): readonly Place[] {
    const name = pathText(field);
    // An element of a list may be known as the whole list.
    const known = [...new Set([rootOf(name), listOf(name)])].flatMap((root) => byRoot.get(root) ?? []);
    const own = known.filter(({ source }) => isWithin(source, name)).map(({ place }) => place);
    if (own.length > 0) return outermost(own);
    // What the nearest enclosing value became.
    const around = known.filter(({ source }) => isWithin(name, source));
    const nearest = Math.max(0, ...around.map(({ source }) => source.length));
    return outermost(around.filter(({ source }) => source.length === nearest).map(({ place }) => place));
  }

  const roots = new Set(marked.map(({ path }) => rootOf(pathText(path))));
  const ofBody = partsOfBody(body).filter(({ path }) => !roots.has(pathText(path)));
  // Messages, tools, fields and headers that come from no field of the request.
  const added = [...ofBody, ...others.filter(({ sources }) => sources.length === 0)];
  /** The key of that element of the request which such a place, or a key of it, was made of; null for none. */
  function ownKeyAt(path: Path, element: Path): string | null {
    return keysOfPath.get(pathText(path))?.get(pathText(element)) ?? null;
  }

  return { of, added, ownKeyAt };
}

function keysByElement(sources: readonly string[]): ReadonlyMap<string, string> {
  const keys = new Map<string, string>();
  for (const source of sources) {
    const element = rootOf(source);
    if (source[element.length] === '.' && !keys.has(element)) keys.set(element, source.slice(element.length + 1));
  }
  return keys;
}

/** Indexes what was dropped by the top-level field or the element of a list that a name may be about: a history may have a thousand names. */
export function droppedByRoot(names: readonly string[], { droppedFrom }: RecordedProvenance) {
  const byRoot = new Map<string, Set<string>>();
  for (const name of names) {
    for (const path of [name, ...(droppedFrom.get(name) ?? [])]) {
      // `input[].odd` is about the items that it was recorded from.
      if (path === name && name.includes('[]') && droppedFrom.has(name)) continue;
      const known = byRoot.get(rootOf(path)) ?? new Set();
      byRoot.set(rootOf(path), known.add(name));
    }
  }
  return (field: Path): readonly string[] => {
    if (field.length === 1) return names;
    const path = pathText(field);
    return [...new Set([rootOf(path), listOf(path)].flatMap((root) => [...(byRoot.get(root) ?? [])]))];
  };
}

/** The top-level field, or the element of a top-level list: `messages[2].content` is in `messages[2]`. */
function rootOf(path: string): string {
  return /^[^.[]+(\[\d+\])?/.exec(path)?.[0] ?? path;
}

/** The top-level field alone. */
function listOf(path: string): string {
  return /^[^.[]+/.exec(path)?.[0] ?? path;
}

/** Parts of a Chat request that can be marked, and lists of them. */
const markable = ['messages', 'tools', 'content', 'tool_calls', 'function', 'custom'];

function* markedIn(thing: object, path: Path): Generator<Omit<Place, 'value'>> {
  for (const [key, sources] of Object.entries(RecordedProvenance.sourcesOf(thing)))
    yield { path: key === '' ? path : [...path, key], sources };
  for (const name of markable) {
    const inner = (thing as Readonly<Record<string, unknown>>)[name];
    if (typeof inner !== 'object' || inner === null) continue;
    if (!Array.isArray(inner)) yield* markedIn(inner, [...path, name]);
    else
      for (const [index, element] of inner.entries())
        if (typeof element === 'object' && element !== null) yield* markedIn(element, [...path, name, index]);
  }
}

/** Without parts that are inside another one. */
function outermost(places: readonly Place[]): readonly Place[] {
  const unique = [...new Set(places)];
  const isInside = (path: Path, other: Path) =>
    other.length < path.length && other.every((step, index) => path[index] === step);
  return unique.filter(({ path }) => !unique.some((other) => isInside(path, other.path)));
}

/** The messages, the tools and the other fields of a Chat request. */
export function partsOfBody(body: unknown): readonly Place[] {
  return Object.entries(recordOf(body) ?? {}).flatMap(([name, value]) =>
    Array.isArray(value) && (name === 'messages' || name === 'tools')
      ? value.map((element, index): Place => ({ path: [name, index], value: element, sources: [] }))
      : [{ path: [name], value, sources: [] }],
  );
}

/**
 * The part of a place that a value inside a field became: the same value, preferably under the same name; else what has
 * that name; else a text that contains the value. Null if there is none.
 */
export function partOf(place: Place, name: string | number | undefined, value: unknown): Place | null {
  const all = [...partsOf(place)];
  const isNamed = ({ path }: Place) => path.at(-1) === name;
  const found =
    all.find((part) => isNamed(part) && isSame(part.value, value)) ??
    all.find((part) => isSame(part.value, value)) ??
    (bookkeeping.has(name) ? undefined : all.find(isNamed)) ??
    all.find((part) => hasText(part.value, value));
  return found ?? null;
}

/** Chat has such keys for other things: the id of a call is the item's `call_id`. */
const bookkeeping: ReadonlySet<unknown> = new Set(['id', 'status']);

function* partsOf(place: Place): Generator<Place> {
  yield place;
  if (typeof place.value !== 'object' || place.value === null) return;
  for (const [key, value] of Object.entries(place.value)) {
    const step = Array.isArray(place.value) ? Number(key) : key;
    yield* partsOf({ path: [...place.path, step], value, sources: place.sources });
  }
}

/** Whether a text contains the value, as it is or as JSON. */
function hasText(text: unknown, value: unknown): boolean {
  if (typeof text !== 'string' || value === '' || value == null) return false;
  return text.includes(typeof value === 'string' ? value : (JSON.stringify(value) ?? ''));
}
