import { RecordedProvenance } from '../../filter/index.ts';
import { isWithin } from '../../formats/json/loose.ts';
import { findValue, isSameJson, type Path, readRecord, writePath } from './fields.ts';

/** A part of the request to the upstream, with the paths in the client's request that it was made of. */
export interface Place {
  /** The place's path in the Chat request. `header accept` and `path` are paths of one step. */
  readonly path: Path;
  readonly value: unknown;
  readonly sources: readonly string[];
}

export type Places = ReturnType<typeof collectPlaces>;

/** Collects the parts of a Chat request whose origin is known, and `others`, if `body` still has them as they were made. */
export function collectPlaces({ result }: RecordedProvenance, body: unknown, others: readonly Place[]) {
  const engine = Object.entries(RecordedProvenance.sourcesOf(result?.passthrough ?? {}));
  const marked = [
    ...collectMarked(result?.chat ?? {}, []),
    ...engine.map(([name, sources]) => ({ path: [name], sources })),
  ]
    .map((place) => ({ ...place, value: findValue(body, place.path) }))
    .filter(({ value }) => value !== undefined);
  const sourced = [...marked, ...others].flatMap((place) => place.sources.map((source) => ({ source, place })));
  /** The first key of a request's element, such as `input[3]`, from which each path in the Chat request was made. */
  const keysOfPath = new Map(marked.map(({ path, sources }) => [writePath(path), indexKeys(sources)]));
  const byRoot = Map.groupBy(sourced, ({ source }) => cutToRoot(source));

  function of(field: Path): readonly Place[] {
    const name = writePath(field);
    // The record may name a whole list instead of its elements.
    const known = [...new Set([cutToRoot(name), cutToList(name)])].flatMap((root) => byRoot.get(root) ?? []);
    const own = known.filter(({ source }) => isWithin(source, name)).map(({ place }) => place);
    if (own.length > 0) return keepOutermost(own);
    // The nearest value around the field decides.
    const around = known.filter(({ source }) => isWithin(name, source));
    const nearest = Math.max(0, ...around.map(({ source }) => source.length));
    return keepOutermost(around.filter(({ source }) => source.length === nearest).map(({ place }) => place));
  }

  const roots = new Set(marked.map(({ path }) => cutToRoot(writePath(path))));
  const ofBody = splitBody(body).filter(({ path }) => !roots.has(writePath(path)));
  const added = [...ofBody, ...others.filter(({ sources }) => sources.length === 0)];
  /** The key of a request's element, such as `input[3]`, that a place was made of; null for none. */
  function ownKeyAt(path: Path, element: Path): string | null {
    return keysOfPath.get(writePath(path))?.get(writePath(element)) ?? null;
  }

  return { of, added, ownKeyAt };
}

function indexKeys(sources: readonly string[]): ReadonlyMap<string, string> {
  const keys = new Map<string, string>();
  for (const source of sources) {
    const element = cutToRoot(source);
    if (source[element.length] === '.' && !keys.has(element)) keys.set(element, source.slice(element.length + 1));
  }
  return keys;
}

/** Groups the dropped names by the field or element that they may refer to, because a history may have thousands. */
export function indexDropped(names: readonly string[], { droppedFrom }: RecordedProvenance) {
  const byRoot = new Map<string, Set<string>>();
  for (const name of names) {
    for (const path of [name, ...(droppedFrom.get(name) ?? [])]) {
      // `input[].odd` refers to the items that it was recorded for.
      if (path === name && name.includes('[]') && droppedFrom.has(name)) continue;
      const known = byRoot.get(cutToRoot(path)) ?? new Set();
      byRoot.set(cutToRoot(path), known.add(name));
    }
  }
  return (field: Path): readonly string[] => {
    if (field.length === 1) return names;
    const path = writePath(field);
    return [...new Set([cutToRoot(path), cutToList(path)].flatMap((root) => [...(byRoot.get(root) ?? [])]))];
  };
}

/** The top-level field or list element of a path. For `messages[2].content` it is `messages[2]`. */
function cutToRoot(path: string): string {
  return /^[^.[]+(\[\d+\])?/.exec(path)?.[0] ?? path;
}

function cutToList(path: string): string {
  return /^[^.[]+/.exec(path)?.[0] ?? path;
}

/** The fields of a Chat request whose values can be marked with their origin. */
const markable = ['messages', 'tools', 'content', 'tool_calls', 'function', 'custom'];

function* collectMarked(thing: object, path: Path): Generator<Omit<Place, 'value'>> {
  for (const [key, sources] of Object.entries(RecordedProvenance.sourcesOf(thing)))
    yield { path: key === '' ? path : [...path, key], sources };
  for (const name of markable) {
    const inner = (thing as Readonly<Record<string, unknown>>)[name];
    if (typeof inner !== 'object' || inner === null) continue;
    if (!Array.isArray(inner)) yield* collectMarked(inner, [...path, name]);
    else
      for (const [index, element] of inner.entries())
        if (typeof element === 'object' && element !== null) yield* collectMarked(element, [...path, name, index]);
  }
}

function keepOutermost(places: readonly Place[]): readonly Place[] {
  const unique = [...new Set(places)];
  const isInside = (path: Path, other: Path) =>
    other.length < path.length && other.every((step, index) => path[index] === step);
  return unique.filter(({ path }) => !unique.some((other) => isInside(path, other.path)));
}

export function splitBody(body: unknown): readonly Place[] {
  return Object.entries(readRecord(body) ?? {}).flatMap(([name, value]) =>
    Array.isArray(value) && (name === 'messages' || name === 'tools')
      ? value.map((element, index): Place => ({ path: [name, index], value: element, sources: [] }))
      : [{ path: [name], value, sources: [] }],
  );
}

/** Finds the part of a place that has this value, else this name, else a text that contains the value. */
export function findPart(place: Place, name: string | number | undefined, value: unknown): Place | null {
  const all = [...listParts(place)];
  const isNamed = ({ path }: Place) => path.at(-1) === name;
  const found =
    all.find((part) => isNamed(part) && isSameJson(part.value, value)) ??
    all.find((part) => isSameJson(part.value, value)) ??
    (bookkeeping.has(name) ? undefined : all.find(isNamed)) ??
    all.find((part) => hasText(part.value, value));
  return found ?? null;
}

/** Keys that mean something else in Chat. The id of a call is the item's `call_id`. */
const bookkeeping: ReadonlySet<unknown> = new Set(['id', 'status']);

function* listParts(place: Place): Generator<Place> {
  yield place;
  if (typeof place.value !== 'object' || place.value === null) return;
  for (const [key, value] of Object.entries(place.value)) {
    const step = Array.isArray(place.value) ? Number(key) : key;
    yield* listParts({ path: [...place.path, step], value, sources: place.sources });
  }
}

/** Whether a text contains the value, verbatim or as JSON. */
function hasText(text: unknown, value: unknown): boolean {
  if (typeof text !== 'string' || value === '' || value == null) return false;
  return text.includes(typeof value === 'string' ? value : (JSON.stringify(value) ?? ''));
}
