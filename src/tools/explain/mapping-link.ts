import type { ApiErrorObject } from '../../filter/index.ts';
import { findValue, readPath } from './fields.ts';
import { type MappingRow, mappingRows } from './mapping-rows.ts';

const byAnchor = new Map(mappingRows.map((row) => [row.anchor, row]));
const rowOfCode = indexRows(/^row-code-/);
const rowOfType = indexRows(/^row-(?:item|part|tool)-/);
const rowOfField = indexRows(/^row-(?!code-|item-|part-|tool-)/);

/** The rows of the mapping by the names in them, among those whose anchor matches. The first row of a name counts. */
function indexRows(anchors: RegExp): ReadonlyMap<string, MappingRow> {
  const rows = mappingRows.filter(({ anchor }) => anchors.test(anchor));
  return new Map(rows.toReversed().flatMap((row) => row.fields.map((field) => [field, row] as const)));
}

/**
 * The row about a field of a request, or about a name in `x-responses-dropped`, which may end in a type or a value:
 * `input[3].web_search_call`, `reasoning.effort.max`. Every path has a row.
 */
export function rowOfPath(path: string): MappingRow {
  const general = path.replaceAll(/\[\d+\]/g, '[]');
  const exact = rowOfField.get(general) ?? rowOfType.get(general) ?? rowOfField.get(general.replace(/\[\]$/, ''));
  if (exact !== undefined) return exact;
  const end = /[^.]*$/.exec(general)?.[0] ?? '';
  const parent = general.slice(0, -end.length - 1);
  const own = /^(input|tools)\[\]/.test(general) ? rowOfType.get(end) : undefined;
  if (own !== undefined) return own;
  if (parent === 'text' || parent === 'reasoning') return rowOfAnchor('row-unknown-keys-of-text');
  if (parent.startsWith('text.') || parent.startsWith('reasoning.')) return rowOfPath(parent);
  if (parent === 'input[]' && /_(call|output|call_output|response|request)$|^mcp_/.test(end))
    return rowOfAnchor('row-hosted-items');
  if (general.startsWith('input[]')) return rowOfAnchor('row-unknown-keys-of-items');
  if (general.startsWith('tools[]')) return rowOfAnchor('row-tools-type');
  return parent === '' ? rowOfAnchor('row-unknown-fields') : rowOfPath(parent);
}

/** The mapping's row about a field. For an item or a tool it is the row of its type. */
export function rowOfValue(path: string, value: unknown): MappingRow {
  const [, list, inner] = /^(input|tools)\[\d+\](.*)$/.exec(path) ?? [];
  const type = findValue(value, ['type']);
  if (inner !== '')
    return (typeof type === 'string' && list === 'input' ? rowOfType.get(type) : null) ?? rowOfPath(path);
  if (list === 'tools') return rowOfPath(typeof type === 'string' ? `tools[].${type}` : 'tools[].type');
  return type === undefined || type === 'message' ? rowOfAnchor('row-input-content') : rowOfPath(`input[].${type}`);
}

/** The mapping's row about an error: the row of the field that it names, or else of its code. */
export function rowOfError({ param, code }: Pick<ApiErrorObject, 'param' | 'code'>, body: unknown): MappingRow {
  const path = param === null ? null : readPath(param);
  if (param === null || path === null || path.length === 0)
    return rowOfCode.get(code) ?? rowOfAnchor('row-code-invalid_value');
  return rowOfValue(param, findValue(body, path));
}

export function buildRule({ anchor, rule }: MappingRow, base: string) {
  return { rule, link: `${base}docs/mapping.md#${anchor}` };
}

function rowOfAnchor(anchor: string): MappingRow {
  const found = byAnchor.get(anchor);
  if (found === undefined) throw new Error(`docs/mapping.md has no ${anchor}.`);
  return found;
}
