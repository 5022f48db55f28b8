/** Characters of a reference that is followed: each step costs, and a schema may have many references. */
const maxReference = 500;

/** What a schema's `$ref` refers to within its root, as `#/$defs/name`, a JSON pointer (RFC 6901), does; null for nothing there. */
export function referred(reference: unknown, root: object): unknown {
  if (reference === '#') return root;
  if (typeof reference !== 'string' || !reference.startsWith('#/') || reference.length > maxReference) return null;
  let value: unknown = root;
  for (const step of reference.slice(2).split('/')) {
    const name = step.replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return null;
    value = (value as Record<string, unknown>)[name];
  }
  return value;
}
