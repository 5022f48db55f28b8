/**
 * Loose reads of what a Chat Completions server sends. Servers leave fields out, send null, another type, or fields of
 * their own; nothing here throws, and nothing is copied. No schema library: a stream's every chunk comes through here.
 */

/** A JSON object whose fields are not known yet. */
export type Loose = Readonly<Record<string, unknown>>;

/** The value as an object, or null for arrays and everything else. */
export function objectOf(value: unknown): Loose | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Loose) : null;
}

/** The value as an array; empty for everything else. */
export function arrayOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** The value as text; `''` for everything else. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** The value as a count: a whole number from 0 on, fractions cut off; null for everything else. */
export function countOf(value: unknown): number | null {
  if (typeof value !== 'number' || !Number.isFinite(value) || value < 0) return null;
  return Math.min(Math.trunc(value), Number.MAX_SAFE_INTEGER);
}

/** The value as JSON; `''` for what cannot be written, being nested deeper than the stack: reading has no such limit. */
export function jsonTextOf(value: unknown): string {
  try {
    return JSON.stringify(value) ?? '';
  } catch {
    return '';
  }
}

/**
 * The one choice that is translated: `index` 0, else the first. Others are not looked at, since `n` is never sent.
 * A stream passes `only`: there, a choice of another index counts only when it comes alone (A20, A21).
 */
export function choiceOf(completion: Loose, only: 'first' | 'alone' = 'first'): Loose | null {
  const choices = arrayOf(completion['choices']);
  for (const value of choices) {
    const choice = objectOf(value);
    if (choice?.['index'] === 0) return choice;
  }
  if (only === 'alone' && choices.length !== 1) return null;
  return objectOf(choices[0]);
}
