import { isExactNumber } from '../../formats/json/exact.ts';
import { escapeControls } from '../cli/style.ts';

/** Cuts a text to a length. A text that was cut ends in `…`. */
export function cutText(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, Math.max(1, most - 1))}…`;
}

/** Writes a value as JSON on one line, cut to at most `most` characters. */
export function writeShortJson(value: unknown, most: number): string {
  return escapeControls(cutText(JSON.stringify(value) ?? '', most));
}

/**
 * JSON over several lines. What fits on a line has one; unless `full`, long strings are cut and what is nested too deep to
 * read is shortened.
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
