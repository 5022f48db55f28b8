import type { Colour, Style } from './style.ts';

/** A cell of a row: shorter texts are filled up to the width of its column. */
export interface Cell {
  readonly text: string;
  readonly width: number;
  readonly colour?: Colour;
}

const gap = '  ';

/** Where the last column of such rows begins. */
export function indentOf(widths: readonly number[]): number {
  return widths.reduce((sum, width) => sum + width + gap.length, 0);
}

/** A row in columns: the cells, then the lines of the last column below one another. */
export function rowLines(cells: readonly Cell[], last: readonly string[], { paint }: Style): string[] {
  const filled = cells.map(({ text, width, colour }) => {
    const padded = text.padEnd(width);
    return (colour === undefined ? padded : paint(colour, padded)) + gap;
  });
  const under = ' '.repeat(indentOf(cells.map(({ text, width }) => Math.max(text.length, width))));
  const [first = '', ...rest] = last;
  return [`${filled.join('')}${first}`.trimEnd(), ...rest.map((line) => `${under}${line}`)];
}

/** A title, and lines below it that are indented; nothing without lines. */
export function section(title: string, lines: readonly string[], { paint }: Style): string[] {
  return lines.length === 0 ? [] : [paint('bold', title), ...lines.map((line) => `${gap}${line}`)];
}

/** Joins the text to print: blocks of lines with an empty line between them; those without lines are left out. */
export function document(blocks: readonly (readonly string[])[]): string {
  const texts = blocks.filter((lines) => lines.length > 0).map((lines) => lines.join('\n'));
  return `${texts.join('\n\n')}\n`;
}
