/** JSON of flags; their regular expressions, which JSON does not have, are written as text. */
export function flagJson(value: unknown, indent?: number): string {
  return JSON.stringify(value, (_key, inner) => (inner instanceof RegExp ? String(inner) : inner), indent);
}
