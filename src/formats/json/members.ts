import { closingQuoteInBytes } from './scan.ts';

export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/** A member of an object, or an element of a list: its name is `''`. */
export interface Member extends ByteRange {
  readonly name: string;
}

export interface Members extends ByteRange {
  readonly type: 'object' | 'list';
  readonly members: readonly Member[];
  /** There are more members; `end` is then the end of the last one that was read. */
  readonly isCut: boolean;
}

/** Finds at most `most` members of an object or list, without parsing them. Null for anything else, and for what is no JSON between the values. */
export function findMembers(bytes: Buffer, start: number, most: number): Members | null {
  const opening = skipSpace(bytes, start);
  const isObject = bytes[opening] === openBrace;
  if (!isObject && bytes[opening] !== openBracket) return null;
  const closing = isObject ? closeBrace : closeBracket;
  const type = isObject ? 'object' : 'list';
  const members: Member[] = [];
  let at = skipSpace(bytes, opening + 1);
  if (bytes[at] === closing) return { type, start: opening, end: at + 1, members, isCut: false };
  for (;;) {
    if (members.length === most) return { type, start: opening, end: at, members, isCut: true };
    const name = isObject ? readName(bytes, at) : { text: '', end: at };
    if (name === null) return null;
    const valueStart = skipSpace(bytes, name.end);
    const end = findValueEnd(bytes, valueStart);
    if (end <= valueStart) return null;
    members.push({ name: name.text, start: valueStart, end });
    at = skipSpace(bytes, end);
    if (bytes[at] === closing) return { type, start: opening, end: at + 1, members, isCut: false };
    if (bytes[at] !== comma) return null;
    at = skipSpace(bytes, at + 1);
  }
}

/** Returns the offset of the first byte from `start` on that is not white space. */
export function skipSpace(bytes: Buffer, start: number): number {
  let at = start;
  while (isSpace(bytes[at])) at++;
  return at;
}

function readName(bytes: Buffer, at: number): { readonly text: string; readonly end: number } | null {
  if (bytes[at] !== quote) return null;
  const end = closingQuoteInBytes(bytes, at) + 1;
  const colonAt = skipSpace(bytes, end);
  if (bytes[colonAt] !== colon) return null;
  try {
    return { text: JSON.parse(bytes.toString('utf8', at, end)) as string, end: colonAt + 1 };
  } catch {
    return null;
  }
}

/** Returns the offset behind the value that begins at `start`; at most `start` if there is no value, or if it does not end. */
export function findValueEnd(bytes: Buffer, start: number): number {
  let depth = 0;
  for (let at = start; at < bytes.length; at++) {
    switch (bytes[at]) {
      case quote:
        at = closingQuoteInBytes(bytes, at);
        if (at >= bytes.length) return -1;
        if (depth === 0) return at + 1;
        break;
      case openBracket:
      case openBrace:
        depth++;
        break;
      case closeBracket:
      case closeBrace:
        if (depth === 0) return at;
        depth--;
        if (depth === 0) return at + 1;
        break;
      default:
        if (depth === 0 && (bytes[at] === comma || isSpace(bytes[at]))) return at;
    }
  }
  return -1;
}

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

const quote = 0x22;
const comma = 0x2c;
const colon = 0x3a;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;
