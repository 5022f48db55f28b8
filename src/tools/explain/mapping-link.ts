import { pathOf, valueAt } from './fields.ts';
import { type MappingRow, mappingRows } from './mapping-rows.ts';

/** The rows of the tables of fields, in their order; rules, errors and choices are not fields. */
const first = mappingRows.findIndex(({ anchor }) => anchor === 'row-model');
const last = mappingRows.findIndex(({ anchor }) => anchor === 'row-compaction-request');
const rowOfField = new Map<string, MappingRow>();
/** By the type of an item, a part or a tool, or by a key that any of them may have. */
const rowOfType = new Map<string, MappingRow>();
for (const row of mappingRows.slice(first, last)) {
  const rows = /^row-(item|part|tool)-/.test(row.anchor) ? rowOfType : rowOfField;
  for (const field of row.fields) if (!rows.has(field)) rows.set(field, row);
}
const byAnchor = new Map(mappingRows.map((row) => [row.anchor, row]));

/**
 * The row about a field of a request, or about a name in `x-responses-dropped`, which may end in a type or a value:
 * `input[3].web_search_call`, `reasoning.effort.max`. Every path has a row.
 */
export function rowOf(path: string): MappingRow {
  const general = path.replaceAll(/\[\d+\]/g, '[]');
  const exact = rowOfField.get(general) ?? rowOfType.get(general) ?? rowOfField.get(general.replace(/\[\]$/, ''));
  if (exact !== undefined) return exact;
  const end = /[^.]*$/.exec(general)?.[0] ?? '';
  const parent = general.slice(0, -end.length - 1);
  const own = /^(input|tools)\[\]/.test(general) ? rowOfType.get(end) : undefined;
  if (own !== undefined) return own;
  if (parent === 'text' || parent === 'reasoning') return row('row-unknown-keys-of-text');
  if (parent.startsWith('text.') || parent.startsWith('reasoning.')) return rowOf(parent);
  if (/^input\[\]$/.test(parent)) return row(isHosted(end) ? 'row-hosted-items' : 'row-unknown-keys-of-items');
  if (/^tools\[\]/.test(general)) return row('row-tools-type');
  if (/^input\[\]/.test(general)) return row('row-unknown-keys-of-items');
  return parent === '' ? row('row-unknown-fields') : rowOf(parent);
}

/** The row about a field with that value: for an item or a tool, that of its type. */
export function rowOfValue(path: string, value: unknown): MappingRow {
  const [, list, inner] = /^(input|tools)\[\d+\](.*)$/.exec(path) ?? [];
  const type = valueAt(value, ['type']);
  if (inner !== '') return (typeof type === 'string' && list === 'input' ? rowOfType.get(type) : null) ?? rowOf(path);
  if (list === 'tools') return rowOf(typeof type === 'string' ? `tools[].${type}` : 'tools[].type');
  return row(type === undefined || type === 'message' ? 'row-input-content' : rowOf(`input[].${type}`).anchor);
}

/** The row about an error: that of its field, by the body's value there; without a field, that of its code. */
export function rowOfError(
  { param, code }: { readonly param: string | null; readonly code: string },
  body: unknown,
): MappingRow {
  const path = param === null ? null : pathOf(param);
  if (param === null || path === null || path.length === 0)
    return (
      mappingRows.find(({ anchor, fields }) => anchor.startsWith('row-code-') && fields.includes(code)) ??
      row('row-code-invalid_value')
    );
  return rowOfValue(param, valueAt(body, path));
}

/** Where to read the row: at the repository's address if the package has one, else in its folder. */
export function linkOf({ anchor }: MappingRow, base: string): string {
  return `${base}docs/mapping.md#${anchor}`;
}

function isHosted(type: string): boolean {
  return /_(call|output|call_output|response|request)$|^mcp_/.test(type);
}

function row(anchor: string): MappingRow {
  const found = byAnchor.get(anchor);
  if (found === undefined) throw new Error(`docs/mapping.md has no ${anchor}.`);
  return found;
}
