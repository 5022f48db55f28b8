import { isJsonObject } from '../../filter/wire/schema/create-response.ts';

/** Whether both are the same JSON value; the order of keys does not count, and an undefined key equals a missing one. */
export function isSame(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false;
  if (Array.isArray(one) !== Array.isArray(other)) return false;
  const [left, right] = [one as Readonly<Record<string, unknown>>, other as Readonly<Record<string, unknown>>];
  for (const name in left) if (!isSame(left[name], ownOf(right, name))) return false;
  for (const name in right) if (right[name] !== undefined && ownOf(left, name) === undefined) return false;
  return true;
}

/** The value if it is an object; null for anything else, including a number that is kept as its text. */
export function recordOf(value: unknown): Readonly<Record<string, unknown>> | null {
  return isJsonObject(value) ? value : null;
}

/** The object's own value of that name: a field may be called `__proto__`, as it is sent. */
export function ownOf(record: Readonly<Record<string, unknown>>, name: string): unknown {
  return Object.hasOwn(record, name) ? record[name] : undefined;
}
