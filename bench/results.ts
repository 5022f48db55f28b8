import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Cell } from './table.ts';

/** A table, from one run. */
export interface RecordedTable {
  readonly date: string;
  readonly machine: string;
  readonly headings: readonly string[];
  readonly rows: readonly (readonly Cell[])[];
}

/** `attacks` is recorded by `npm test -- sizing`, `costs` by the bench. */
export type TableName = 'costs' | 'attacks';

export type Results = { readonly [Name in TableName]?: RecordedTable };

const file = join(import.meta.dirname, 'results.json');

/** The last recording of each table: the figures of the documentation that are measured again with each recording. */
export function readResults(): Results {
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Results) : {};
}

/** Replaces the last table of that name. */
export function recordTable(name: TableName, table: RecordedTable): void {
  const rows = table.rows.map((row) =>
    row.map((cell) => (typeof cell === 'number' ? Number(cell.toPrecision(4)) : cell)),
  );
  writeFileSync(file, textOf({ ...readResults(), [name]: { ...table, rows } }));
}

/** JSON with a line for each row, so that a difference shows which figures changed. */
function textOf(results: Results): string {
  const tables = Object.entries(results).map(([name, { rows, ...about }]) => {
    const lines = rows.map((row) => `    ${JSON.stringify(row)}`);
    return `"${name}": ${JSON.stringify({ ...about, rows: [] }).slice(0, -2)}\n${lines.join(',\n')}\n  ]}`;
  });
  return `{\n  ${tables.join(',\n  ')}\n}\n`;
}
