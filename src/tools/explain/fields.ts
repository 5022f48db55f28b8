import { isJsonObject } from '../../formats/json/exact.ts';

export type Path = readonly (string | number)[];

/** Lists the fields that a request sets: each item and tool, each key of `text` and `reasoning`, and every other field. */
export function listFields(body: unknown): readonly Path[] {
  return Object.entries(readRecord(body) ?? {}).flatMap(([name, value]): readonly Path[] => {
    if (splitLists.has(name) && Array.isArray(value) && value.length > 0)
      return value.map((_element, index) => [name, index]);
    const keys = splitObjects.has(name) ? Object.keys(readRecord(value) ?? {}) : [];
    return keys.length === 0 ? [[name]] : keys.map((key) => [name, key]);
  });
}

const splitLists = new Set(['input', 'tools', 'include']);
const splitObjects = new Set(['text', 'reasoning', 'stream_options']);

/** Writes a path as OpenAI's errors do: `input[3].content`. */
export function writePath(path: Path): string {
  return path.map((step, index) => (typeof step === 'number' ? `[${step}]` : index === 0 ? step : `.${step}`)).join('');
}

export function readPath(text: string): Path | null {
  if (!/^[^.[\]]+(\.[^.[\]]+|\[\d+\])*$/.test(text)) return null;
  return [...text.matchAll(/\[(\d+)\]|[^.[\]]+/g)].map(([name, index]) => (index === undefined ? name : Number(index)));
}

export function findValue(value: unknown, path: Path): unknown {
  let here = value;
  for (const step of path) {
    if (typeof step === 'number' ? !Array.isArray(here) : readRecord(here) === null) return undefined;
    here = findOwn(here as Readonly<Record<string, unknown>>, String(step));
  }
  return here;
}

/** Copies a value without the place at a path. In a list, later elements move up. */
export function removeValue(value: unknown, path: Path): unknown {
  const [step, ...rest] = path;
  if (step === undefined) return undefined;
  if (Array.isArray(value))
    return value.flatMap((element, index) => {
      if (index !== step) return [element];
      return rest.length === 0 ? [] : [removeValue(element, rest)];
    });
  return Object.fromEntries(
    Object.entries(readRecord(value) ?? {}).flatMap(([name, inner]) => {
      if (name !== step) return [[name, inner]];
      return rest.length === 0 ? [] : [[name, removeValue(inner, rest)]];
    }),
  );
}

export function replaceValue(value: unknown, path: Path, replacement: unknown): unknown {
  const [step, ...rest] = path;
  if (step === undefined) return replacement;
  if (Array.isArray(value))
    return value.map((element, index) => (index === step ? replaceValue(element, rest, replacement) : element));
  const record = readRecord(value) ?? {};
  return { ...record, [step]: replaceValue(findOwn(record, String(step)), rest, replacement) };
}

/** Whether both are the same JSON value; the order of keys does not count, and an undefined key equals a missing one. */
export function isSameJson(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false;
  if (Array.isArray(one) !== Array.isArray(other)) return false;
  const [left, right] = [one as Readonly<Record<string, unknown>>, other as Readonly<Record<string, unknown>>];
  for (const name in left) if (!isSameJson(left[name], findOwn(right, name))) return false;
  for (const name in right) if (right[name] !== undefined && findOwn(left, name) === undefined) return false;
  return true;
}

/** The value if it is an object; null for anything else, including a number that is kept as its text. */
export function readRecord(value: unknown): Readonly<Record<string, unknown>> | null {
  return isJsonObject(value) ? value : null;
}

/** Finds an object's own value by its name, which may be `__proto__`. */
function findOwn(record: Readonly<Record<string, unknown>>, name: string): unknown {
  return Object.hasOwn(record, name) ? record[name] : undefined;
}
