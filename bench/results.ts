import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { PartName } from './arguments.ts';
import type { Cell } from './table.ts';

/** The table of one part, from one run. */
export interface RecordedTable {
  readonly date: string;
  readonly machine: string;
  readonly headings: readonly string[];
  readonly rows: readonly (readonly Cell[])[];
}

export type Results = { readonly [Name in PartName]?: RecordedTable };

const file = join(import.meta.dirname, 'results.json');

/** The last recording of each part: every figure in the documentation that comes from a run of the bench. */
export function readResults(): Results {
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Results) : {};
}

/** Replaces the part's last table. */
export function recordTable(name: PartName, table: RecordedTable): void {
  const rows = table.rows.map((row) =>
    row.map((cell) => (typeof cell === 'number' ? Number(cell.toPrecision(4)) : cell)),
  );
  writeFileSync(file, `${JSON.stringify({ ...readResults(), [name]: { ...table, rows } }, null, 2)}\n`);
}
