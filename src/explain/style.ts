import type { Terminal } from '../program/command-line.ts';
import { isExactNumber } from '../schema/create-response.ts';

/** The colours of the output, and its width in characters. */
export interface Style {
  readonly width: number;
  paint(colour: Colour, text: string): string;
}

export type Colour = keyof typeof codes;

const codes = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, blue: 34, magenta: 35, cyan: 36 } as const;

/** Colours on a terminal, none in a pipe; overridden by `NO_COLOR` (no-color.org), then `FORCE_COLOR`. */
export function styleFor({ env, stdout }: Pick<Terminal, 'env' | 'stdout'>): Style {
  const { NO_COLOR: none = '', FORCE_COLOR: forced = '', TERM: terminal } = env;
  const wanted = forced === '' ? stdout.isTTY === true && terminal !== 'dumb' : forced !== '0';
  const coloured = wanted && none === '';
  return {
    width: Math.max(60, stdout.columns || 120),
    paint: (colour, text) => (coloured && text !== '' ? `\x1b[${codes[colour]}m${text}\x1b[0m` : text),
  };
}

/** Text that is safe for a terminal: what moves its cursor or turns its direction is escaped as in JSON. */
export function printable(text: string): string {
  const escaped = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return text.replaceAll(/\p{Cc}|\p{Bidi_Control}/gu, escaped);
}

/** The same for the whole output, except line ends and the colours of `Style`: everything printed passes through it last. */
export function withoutActive(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the style's own colours begin with one
  return text.replaceAll(/(?!\n|\x1b\[\d{1,2}m)(?:\p{Cc}|\p{Bidi_Control})/gu, printable);
}

/** The text, cut to that length. */
export function cut(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, Math.max(1, most - 1))}…`;
}

/** JSON on one line, no longer than that. */
export function short(value: unknown, most: number): string {
  return printable(cut(JSON.stringify(value) ?? '', most));
}

/** The text in lines of that width, broken between words. */
export function wrap(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  for (const word of printable(text).split(' ')) {
    const line = lines.at(-1);
    if (line === undefined || line.length + 1 + word.length > width) lines.push(word);
    else lines[lines.length - 1] = `${line} ${word}`;
  }
  return lines;
}

/**
 * JSON over several lines. What fits on a line has one; unless `full`, long strings are cut and what is nested too deep to
 * read is shortened.
 */
export function prettyJson(
  value: unknown,
  { width, full }: { readonly width: number; readonly full: boolean },
): string {
  return written(value, '', 0);

  function written(here: unknown, indent: string, depth: number): string {
    if (typeof here === 'string' && !full) return stringText(here);
    const compact = JSON.stringify(here) ?? 'null';
    if (typeof here !== 'object' || here === null || isExactNumber(here)) return printable(compact);
    if (compact.length + indent.length <= width && (full || compact.length < longest)) return printable(compact);
    if (!full && depth >= deepest) return short(here, Math.max(20, width - indent.length));
    const inner = `${indent}  `;
    const isList = Array.isArray(here);
    const lines = Object.entries(here)
      .filter(([, element]) => element !== undefined)
      .map(
        ([name, element]) =>
          `${inner}${isList ? '' : `${printable(JSON.stringify(name))}: `}${written(element, inner, depth + 1)}`,
      );
    return `${isList ? '[' : '{'}\n${lines.join(',\n')}\n${indent}${isList ? ']' : '}'}`;
  }
}

const deepest = 3;
const longest = 160;

function stringText(text: string): string {
  if (text.length <= longest) return printable(JSON.stringify(text));
  return `${printable(JSON.stringify(text.slice(0, longest - 40)))}… (${text.length} characters)`;
}
