import { arrayOf, objectOf } from '../../../formats/json/loose.ts';

interface Difference {
  readonly path: string;
  /** The index of the first character that differs between two texts; null for values of other types. */
  readonly character: number | null;
  readonly before: string;
  readonly after: string;
}

/** Fields that chat templates write before the messages, in the order in which most of them do. */
export const promptFields = ['model', 'tools', 'chat_template_kwargs', 'reasoning_effort'] as const;

type Fields = Readonly<Record<string, unknown>>;

export function compareRoundTrips(earlier: unknown, later: unknown) {
  const [a, b] = [objectOf<Fields>(earlier) ?? {}, objectOf<Fields>(later) ?? {}];
  const [old, all] = [arrayOf(a['messages']), arrayOf(b['messages'])];
  const places = [
    ...promptFields.map((name) => [name, a[name], b[name]] as const),
    ...old.map((message, index) => [`messages[${index}]`, message, all[index]] as const),
  ];
  const differences = places.map(([path, before, after]) => findDifference(path, before, after));
  const changed = Object.entries(b).filter(
    ([name, value]) => name !== 'messages' && writeComparedValue(value) !== writeComparedValue(a[name]),
  );
  return {
    difference: differences.find((difference) => difference !== null) ?? null,
    changed: changed.map(([name]) => name),
  };
}

/** Finds the first difference between two values, in the order in which their fields are written. */
function findDifference(path: string, a: unknown, b: unknown): Difference | null {
  if (writeComparedValue(a) === writeComparedValue(b)) return null;
  if (typeof a === 'string' && typeof b === 'string') {
    let at = 0;
    while (at < a.length && a[at] === b[at]) at += 1;
    return { path, character: at, before: cutExcerpt(a, at), after: cutExcerpt(b, at) };
  }
  if (typeof a === 'object' && typeof b === 'object' && a !== null && b !== null) {
    const isList = Array.isArray(a) && Array.isArray(b);
    for (const key of new Set([...Object.keys(a), ...Object.keys(b)])) {
      const inner = isList ? `${path}[${key}]` : `${path}.${key}`;
      const found = findDifference(inner, (a as Fields)[key], (b as Fields)[key]);
      if (found !== null) return found;
    }
  }
  return {
    path,
    character: null,
    before: cutExcerpt(writeComparedValue(a), 0),
    after: cutExcerpt(writeComparedValue(b), 0),
  };
}

const shownLength = 90;

function cutExcerpt(text: string, at: number): string {
  const from = Math.max(0, at - 20);
  const part = text.slice(from, from + shownLength);
  return `${from > 0 ? '…' : ''}${part}${from + shownLength < text.length ? '…' : ''}`;
}

function writeComparedValue(value: unknown): string {
  return value === undefined ? '' : JSON.stringify(value);
}
