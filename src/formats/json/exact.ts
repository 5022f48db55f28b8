// TypeScript's es2024 library does not declare a reviver's source text yet; V8 has had it since 11.4.
const parseWithSource = JSON.parse as (
  text: string,
  reviver: (key: string, value: unknown, context: { readonly source?: string }) => unknown,
) => unknown;
/** Not yet in TypeScript's es2024 library either. */
export const { rawJSON, isRawJSON } = JSON as unknown as {
  rawJSON(text: string): unknown;
  isRawJSON(value: unknown): boolean;
};

/** JSON with each number that JavaScript would change as a `JSON.rawJSON` object. Throws `SyntaxError`. */
export function parseExactly(text: string): unknown {
  return parseWithSource(text, keepExact);
}

/** A double holds any 15 significant digits. */
function keepExact(_key: string, value: unknown, { source }: { readonly source?: string }): unknown {
  if (typeof value !== 'number' || source === undefined) return value;
  if (Number.isFinite(value)) {
    const digits = source.replace(/[eE].*$/, '').replace(/[^0-9]/g, '');
    if (digits.length <= 15 || String(value) === source) return value;
  }
  return rawJSON(source);
}
