/**
 * Characters of the value's JSON, but for escapes. Counting ends above `most`: a value may have one object in many places, and be longer
 * than memory once it is written.
 */
export function charactersOf(value: unknown, most: number): number {
  if (typeof value === 'string') return value.length + 2;
  if (typeof value !== 'object' || value === null) return value === undefined ? 0 : String(value).length;
  let count = 2;
  if (Array.isArray(value)) {
    for (const entry of value) {
      count += 1 + charactersOf(entry, most - count);
      if (count > most) return count;
    }
    return count;
  }
  for (const name in value) {
    count += name.length + 4 + charactersOf((value as Readonly<Record<string, unknown>>)[name], most - count);
    if (count > most) return count;
  }
  return count;
}
