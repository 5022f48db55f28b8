/** JSON of a value; its regular expressions, which JSON does not have, are written as text. */
export function jsonWithPatterns(value: unknown, indent?: number): string {
  return JSON.stringify(value, (_key, inner) => (inner instanceof RegExp ? String(inner) : inner), indent);
}
