// These functions read values of unchecked shape. They never throw or copy, and need no schema: every chunk of a stream is read with them.

import { scanJson } from './scan.ts';

/** A shape with optional `unknown` fields alone: naming one assumes nothing about the value. */
type LooseShape<Shape> = { readonly [Field in keyof Shape]?: unknown extends Shape[Field] ? unknown : never };

/** Returns the value as an object with those fields; null for anything else, arrays included. */
export function objectOf<Shape extends LooseShape<Shape> = never>(value: unknown): Shape | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Shape) : null;
}

/** Returns the value as an array; an empty one for anything else. */
export function arrayOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

const none: readonly never[] = [];

/** Returns the objects of an array, without its other entries; none for anything else. */
export function objectsOf<Shape extends LooseShape<Shape> = never>(value: unknown): readonly Shape[] {
  if (!Array.isArray(value)) return none;
  const objects: Shape[] = [];
  for (const entry of value as readonly unknown[]) {
    const object = objectOf<Shape>(entry);
    if (object !== null) objects.push(object);
  }
  return objects;
}

/** Returns the value as text; `''` for anything else. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** Does the value say anything? Null, `''`, and an object or a list without entries do not. */
export function isGiven(value: unknown): boolean {
  if (value === null || value === undefined || value === '') return false;
  if (Array.isArray(value)) return value.length > 0;
  return typeof value !== 'object' || Object.keys(value).length > 0;
}

/** Returns the value as a count: a whole number from 0 on, fractions cut off; null for anything else. */
export function countOf(value: unknown): number | null {
  if (typeof value !== 'number' || !Number.isFinite(value) || value < 0) return null;
  return Math.min(Math.trunc(value), Number.MAX_SAFE_INTEGER);
}

/** Parses JSON; undefined for any other text. */
export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The most levels of a value that is written: Node 24's stack ends at some 5,000, Node 26's JSON.stringify takes any. */
const maxWrittenNesting = 2_500;

/** Writes the value as JSON; `''` if it is nested deeper than `maxWrittenNesting`. Parsing has no such limit. */
export function jsonTextOf(value: unknown): string {
  try {
    const text = JSON.stringify(value) ?? '';
    // A level takes at least two characters, so only long texts are read again.
    const isFlat = text.length <= 2 * maxWrittenNesting;
    return isFlat || scanJson(text, { maxNesting: maxWrittenNesting }).tooDeepAt === null ? text : '';
  } catch {
    return '';
  }
}

/** Writes the value as JSON, with regular expressions, which JSON does not have, as text. */
export function jsonWithPatterns(value: unknown, indent?: number): string {
  return JSON.stringify(value, (_key, inner) => (inner instanceof RegExp ? String(inner) : inner), indent);
}

/** Returns the path with `[]` for each place in a list: `input[].content`. */
export function generalOf(path: string): string {
  return path.replaceAll(/\[\d+\]/g, '[]');
}

/** Is a path of a JSON value (`input[3].content`) the other one, or inside it? */
export function isWithin(path: string, other: string): boolean {
  return path.startsWith(other) && (path.length === other.length || /[.[]/.test(path[other.length] ?? ''));
}
