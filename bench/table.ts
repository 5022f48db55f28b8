export type Cell = string | number;

/** A Markdown table; numbers have three significant digits. */
export function tableOf(headings: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const texts = [headings, ...rows.map((row) => row.map(textOf))];
  const widths = headings.map((_, column) => Math.max(3, ...texts.map((row) => row[column]?.length ?? 0)));
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`;
  const [head = [], ...body] = texts;
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...body.map(line)].join('\n');
}

export function median(figures: readonly number[]): number {
  const sorted = figures.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const [low = Number.NaN, high = Number.NaN] = sorted.slice(sorted.length % 2 === 0 ? middle - 1 : middle);
  return sorted.length % 2 === 0 ? (low + high) / 2 : low;
}

function textOf(cell: Cell): string {
  if (typeof cell === 'string') return cell;
  if (!Number.isFinite(cell)) return '–';
  return cell >= 1000 ? Math.round(cell).toLocaleString('en') : cell.toPrecision(3);
}
