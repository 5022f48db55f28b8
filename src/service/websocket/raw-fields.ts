import type { Buffer } from 'node:buffer';
import { closingQuote, scanJson } from '../../filter/wire/json/scan.ts';

/** The fields of a JSON object, each value as the bytes in which it was sent. */
export type RawFields = ReadonlyMap<string, Buffer>;

/**
 * Finds the fields of a JSON object without parsing their values: a conversation of megabytes is passed on as it came, with
 * numbers that JavaScript cannot hold, and each value is validated where it is used. The last of repeated names counts.
 * Null for bytes that are not an object.
 */
export function readRawFields(bytes: Buffer): RawFields | null {
  const fields = new Map<string, Buffer>();
  let at = skipSpace(bytes, 0);
  if (bytes[at] !== openingBraceByte) return null;
  at = skipSpace(bytes, at + 1);
  if (bytes[at] === closingBraceByte) return isOver(bytes, at + 1) ? fields : null;
  for (;;) {
    const name = nameAt(bytes, at);
    if (name === null) return null;
    const colon = skipSpace(bytes, name.end);
    if (bytes[colon] !== colonByte) return null;
    const start = skipSpace(bytes, colon + 1);
    const end = valueEnd(bytes, start);
    if (end <= start) return null;
    fields.set(name.text, bytes.subarray(start, end));
    at = skipSpace(bytes, end);
    if (bytes[at] === closingBraceByte) return isOver(bytes, at + 1) ? fields : null;
    if (bytes[at] !== commaByte) return null;
    at = skipSpace(bytes, at + 1);
  }
}

/**
 * The value of such bytes. Throws `SyntaxError` if they are not JSON, `RangeError` if they hold more than `maxValues`
 * values.
 */
export function parseRaw(bytes: Buffer, maxValues: number): unknown {
  if (scanJson(bytes, { maxValues }).values > maxValues)
    throw new RangeError(`The message holds too many values: more than ${maxValues}.`);
  return JSON.parse(bytes.toString());
}

const quoteByte = 0x22;
const commaByte = 0x2c;
const colonByte = 0x3a;
const openingBracketByte = 0x5b;
const closingBracketByte = 0x5d;
const openingBraceByte = 0x7b;
const closingBraceByte = 0x7d;

function nameAt(bytes: Buffer, at: number): { readonly text: string; readonly end: number } | null {
  if (bytes[at] !== quoteByte) return null;
  const end = closingQuote(bytes, at) + 1;
  if (end > bytes.length) return null;
  try {
    return { text: JSON.parse(bytes.toString('utf8', at, end)) as string, end };
  } catch {
    return null;
  }
}

/** Offset after the value that begins at `start`; before it, if there is none or it does not end. */
function valueEnd(bytes: Buffer, start: number): number {
  let depth = 0;
  for (let at = start; at < bytes.length; at++) {
    switch (bytes[at]) {
      case quoteByte:
        at = closingQuote(bytes, at);
        if (at >= bytes.length) return -1;
        if (depth === 0) return at + 1;
        break;
      case openingBracketByte:
      case openingBraceByte:
        depth++;
        break;
      case closingBracketByte:
      case closingBraceByte:
        if (depth === 0) return withoutSpace(bytes, start, at);
        depth--;
        if (depth === 0) return at + 1;
        break;
      case commaByte:
        if (depth === 0) return withoutSpace(bytes, start, at);
    }
  }
  return -1;
}

function withoutSpace(bytes: Buffer, start: number, end: number): number {
  let at = end;
  while (at > start && isSpace(bytes[at - 1])) at--;
  return at;
}

function skipSpace(bytes: Buffer, start: number): number {
  let at = start;
  while (isSpace(bytes[at])) at++;
  return at;
}

function isOver(bytes: Buffer, at: number): boolean {
  return skipSpace(bytes, at) === bytes.length;
}

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}
