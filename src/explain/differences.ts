import { isJsonObject } from '../schema/create-response.ts';

/** A place in a JSON value, and what stands there: undefined where there is nothing. */
export interface Difference {
  /** `messages[0].content`; empty for the value itself. */
  readonly path: string;
  readonly before: unknown;
  readonly after: unknown;
}

/** Where two JSON values differ, each place once and as deep as it can be told. Elements of a list are paired from both ends. */
export function differences(before: unknown, after: unknown, path = ''): readonly Difference[] {
  if (isSame(before, after)) return [];
  if (Array.isArray(before) && Array.isArray(after)) return listDifferences(before, after, path);
  const [left, right] = [recordOf(before), recordOf(after)];
  if (left === null || right === null) return [{ path, before, after }];
  const names = new Set([...Object.keys(left), ...Object.keys(right)]);
  return [...names].flatMap((name) =>
    differences(ownOf(left, name), ownOf(right, name), path === '' ? name : `${path}.${name}`),
  );
}

/** Whether both are the same JSON value; the order of keys does not count, and an undefined one is as good as none. */
export function isSame(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false;
  if (Array.isArray(one) !== Array.isArray(other)) return false;
  const [left, right] = [one as Readonly<Record<string, unknown>>, other as Readonly<Record<string, unknown>>];
  for (const name in left) if (!isSame(left[name], ownOf(right, name))) return false;
  for (const name in right) if (right[name] !== undefined && ownOf(left, name) === undefined) return false;
  return true;
}

/** An object as what it is; null for anything else, and for a number that is kept as its text. */
export function recordOf(value: unknown): Readonly<Record<string, unknown>> | null {
  return isJsonObject(value) ? value : null;
}

/** The object's own value of that name: a field may be called `__proto__`, as it is sent. */
export function ownOf(record: Readonly<Record<string, unknown>>, name: string): unknown {
  return Object.hasOwn(record, name) ? record[name] : undefined;
}

function listDifferences(before: readonly unknown[], after: readonly unknown[], path: string): readonly Difference[] {
  let start = 0;
  while (start < before.length && start < after.length && isSame(before[start], after[start])) start += 1;
  let end = 0;
  while (end < Math.min(before.length, after.length) - start && isSame(before.at(-1 - end), after.at(-1 - end)))
    end += 1;
  const left = before.slice(start, before.length - end);
  const right = after.slice(start, after.length - end);
  if (left.length === right.length)
    return left.flatMap((value, index) => differences(value, right[index], `${path}[${start + index}]`));
  const gone = left.map((value, index) => ({ path: `${path}[${start + index}]`, before: value, after: undefined }));
  const added = right.map((value, index) => ({ path: `${path}[${start + index}]`, before: undefined, after: value }));

  return added.length > 0 ? added : gone;
}
