/**
 * Reads values of unchecked shape. Nothing here throws, and nothing is copied. No schema library: every chunk of a stream
 * is read with these.
 */

import { scanJson } from './scan.ts';

/** Only shapes with optional `unknown` fields: naming one assumes nothing about the value. */
type LooseShape<Shape> = { readonly [Field in keyof Shape]?: unknown extends Shape[Field] ? unknown : never };

/** The value as an object with those fields; null for anything else, arrays included. */
export function objectOf<Shape extends LooseShape<Shape> = never>(value: unknown): Shape | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Shape) : null;
}

/** The value as an array; empty for anything else. */
export function arrayOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

const none: readonly never[] = [];

/** The objects in the value, if it is an array; other entries are left out. */
export function objectsOf<Shape extends LooseShape<Shape> = never>(value: unknown): readonly Shape[] {
  if (!Array.isArray(value)) return none;
  const objects: Shape[] = [];
  for (const entry of value as readonly unknown[]) {
    const object = objectOf<Shape>(entry);
    if (object !== null) objects.push(object);
  }
  return objects;
}

/** The value as text; `''` for anything else. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** Does the value say anything? Null, `''`, and an object or a list without entries do not. */
export function isGiven(value: unknown): boolean {
  if (value === null || value === undefined || value === '') return false;
  if (Array.isArray(value)) return value.length > 0;
  return typeof value !== 'object' || Object.keys(value).length > 0;
}

/** The value as a count: a whole number from 0 on, fractions cut off; null for everything else. */
export function countOf(value: unknown): number | null {
  if (typeof value !== 'number' || !Number.isFinite(value) || value < 0) return null;
  return Math.min(Math.trunc(value), Number.MAX_SAFE_INTEGER);
}

/** The text parsed as JSON; undefined if it is not JSON. */
export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Levels of a value that is written: Node 24's stack ends at some 5,000, Node 26's JSON.stringify takes any. */
const maxWrittenNesting = 2_500;

/** The value as JSON; `''` if it is nested deeper than `maxWrittenNesting`. Parsing has no such limit. */
export function jsonTextOf(value: unknown): string {
  try {
    const text = JSON.stringify(value) ?? '';
    // A level takes two characters at least, so that nearly no text is read again.
    const isFlat = text.length <= 2 * maxWrittenNesting;
    return isFlat || scanJson(text, { maxNesting: maxWrittenNesting }).tooDeepAt === null ? text : '';
  } catch {
    return '';
  }
}

/** JSON of a value; its regular expressions, which JSON does not have, are written as text. */
export function jsonWithPatterns(value: unknown, indent?: number): string {
  return JSON.stringify(value, (_key, inner) => (inner instanceof RegExp ? String(inner) : inner), indent);
}
