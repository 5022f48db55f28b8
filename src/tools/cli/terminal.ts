import { type ParseArgsOptionsConfig, parseArgs } from 'node:util';
import { isExactNumber } from '../../formats/json/exact.ts';
import { usageProblem } from '../../service/settings/error-texts.ts';

/** A subcommand: takes its own arguments, writes to the terminal it is given, and resolves to the exit code. */
export type Subcommand = (args: readonly string[], terminal: Terminal) => Promise<number>;

export interface Terminal {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdin: NodeJS.ReadStream;
  readonly stdout: NodeJS.WriteStream;
  readonly stderr: NodeJS.WriteStream;
}

/** Is thrown for a command line that cannot be followed, with a message for standard error. */
export class UsageError extends Error {
  override readonly name: string = 'UsageError';
}

/** The values of a subcommand's options, and its positional arguments. Throws `UsageError`. */
export function parseOptions<Options extends ParseArgsOptionsConfig>(args: readonly string[], options: Options) {
  try {
    return parseArgs({ args: [...args], options, strict: true, allowPositionals: true });
  } catch (error) {
    throw new UsageError(usageProblem(error, options));
  }
}

export type Style = ReturnType<typeof createPlainStyle>;

export type Colour = keyof typeof codes;

const codes = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, blue: 34, magenta: 35, cyan: 36 } as const;

/** Colours on a terminal, none in a pipe; overridden by `NO_COLOR` (no-color.org), then `FORCE_COLOR`. */
export function createStyle({ env, stdout }: Pick<Terminal, 'env' | 'stdout'>): Style {
  const { NO_COLOR: none = '', FORCE_COLOR: forced = '', TERM: terminal } = env;
  const wanted = forced === '' ? stdout.isTTY === true && terminal !== 'dumb' : forced !== '0';
  const width = Math.max(60, stdout.columns || 120);
  if (!wanted || none !== '') return createPlainStyle(width);
  return { width, paint: (colour, text) => (text === '' ? '' : `\x1b[${codes[colour]}m${text}\x1b[0m`) };
}

export function createPlainStyle(width: number) {
  return { width, paint: (_colour: Colour, text: string) => text };
}

/** Makes a text safe for a terminal: characters that move the cursor or change the direction are escaped as in JSON. */
export function escapeControls(text: string): string {
  const escaped = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return text.replaceAll(/\p{Cc}|\p{Bidi_Control}/gu, escaped);
}

/** Escapes control characters in the whole output, except line ends and the colours of `Style`. */
export function escapeOutput(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the style's own colours begin with one
  return text.replaceAll(/(?!\n|\x1b\[\d{1,2}m)(?:\p{Cc}|\p{Bidi_Control})/gu, escapeControls);
}

/** Breaks a text between words into lines of at most `width` characters. Each line after the first is indented. */
export function wrapText(text: string, width: number, indent = ''): readonly string[] {
  const [first = '', ...words] = escapeControls(text).split(' ');
  const lines = [first];
  for (const word of words) {
    const line = `${lines.at(-1)} ${word}`;
    if (line.length > width) lines.push(`${indent}${word}`);
    else lines[lines.length - 1] = line;
  }
  return lines;
}

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

export function writeSection(title: string, lines: readonly string[], { paint }: Style): string[] {
  return lines.length === 0 ? [] : [paint('bold', title), ...lines.map((line) => `${gap}${line}`)];
}

export function joinSections(blocks: readonly (readonly string[])[]): string {
  const texts = blocks.filter((lines) => lines.length > 0).map((lines) => lines.join('\n'));
  return `${texts.join('\n\n')}\n`;
}

/** Cuts a text to a length. A text that was cut ends in `…`. */
export function cutText(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, Math.max(1, most - 1))}…`;
}

export function writeShortJson(value: unknown, most: number): string {
  return escapeControls(cutText(JSON.stringify(value) ?? '', most));
}

/**
 * Writes JSON over several lines; a value that fits has one line. Unless `full`, long strings and deeply nested values
 * are shortened.
 */
export function writePrettyJson(
  value: unknown,
  { width, full }: { readonly width: number; readonly full: boolean },
): string {
  return written(value, '', 0);

  function written(here: unknown, indent: string, depth: number): string {
    if (typeof here === 'string' && !full) return writeString(here);
    const compact = JSON.stringify(here) ?? 'null';
    if (typeof here !== 'object' || here === null || isExactNumber(here)) return escapeControls(compact);
    if (compact.length + indent.length <= width && (full || compact.length < longest)) return escapeControls(compact);
    if (!full && depth >= deepest) return writeShortJson(here, Math.max(20, width - indent.length));
    const inner = `${indent}  `;
    const isList = Array.isArray(here);
    const lines = Object.entries(here)
      .filter(([, element]) => element !== undefined)
      .map(
        ([name, element]) =>
          `${inner}${isList ? '' : `${escapeControls(JSON.stringify(name))}: `}${written(element, inner, depth + 1)}`,
      );
    return `${isList ? '[' : '{'}\n${lines.join(',\n')}\n${indent}${isList ? ']' : '}'}`;
  }
}

const deepest = 3;
const longest = 160;

function writeString(text: string): string {
  if (text.length <= longest) return escapeControls(JSON.stringify(text));
  return `${escapeControls(JSON.stringify(text.slice(0, longest - 40)))}… (${text.length} characters)`;
}
