import type { Colour, Style } from './style.ts';

/** A cell of a table's row. Its text is padded to the width of its column. */
export interface Cell {
  readonly text: string;
  readonly width: number;
  readonly colour?: Colour;
}

const gap = '  ';

/** The position at which a row's last column begins, after columns of these widths. */
export function computeIndent(widths: readonly number[]): number {
  return widths.reduce((sum, width) => sum + width + gap.length, 0);
}

/** Prints a row of a table: its cells, then the lines of the last column, which stand below one another. */
export function writeTableRow(cells: readonly Cell[], last: readonly string[], { paint }: Style): string[] {
  const filled = cells.map(({ text, width, colour }) => {
    const padded = text.padEnd(width);
    return (colour === undefined ? padded : paint(colour, padded)) + gap;
  });
  const under = ' '.repeat(computeIndent(cells.map(({ text, width }) => Math.max(text.length, width))));
  const [first = '', ...rest] = last;
  return [`${filled.join('')}${first}`.trimEnd(), ...rest.map((line) => `${under}${line}`)];
}

/** A section of a report: a title with indented lines below it. A section without lines is left out. */
export function writeSection(title: string, lines: readonly string[], { paint }: Style): string[] {
  return lines.length === 0 ? [] : [paint('bold', title), ...lines.map((line) => `${gap}${line}`)];
}

/** Joins the sections of a report with an empty line between them. Sections without lines are left out. */
export function joinSections(blocks: readonly (readonly string[])[]): string {
  const texts = blocks.filter((lines) => lines.length > 0).map((lines) => lines.join('\n'));
  return `${texts.join('\n\n')}\n`;
}
