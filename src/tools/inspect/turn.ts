import { hash } from 'node:crypto';
import { closingQuote } from '../../filter/wire/json/scan.ts';
import { promptFields } from './view/turn-changes.ts';

/**
 * A Chat request as hashes of its parts' bytes as sent, since a server's prefix cache compares those.
 */
export interface Turn {
  /** What chat templates write before the messages, with the model, by field. */
  readonly fields: Readonly<Record<string, string>>;
  readonly messages: readonly TurnMessage[];
}

export interface TurnMessage {
  readonly hash: string;
  /** `developer` is `system`; anything unknown is `user`. */
  readonly role: 'system' | 'assistant' | 'user';
}

/** Longer conversations are not linked. */
const maxMessages = 20_000;

/** The parts of a Chat request's bytes; null if it is not one. Nothing is parsed, since histories are long. */
export function turnOf(bytes: Buffer): Turn | null {
  const whole = rangesOf(bytes, skipSpace(bytes, 0));
  const messages = whole?.get('messages');
  if (whole === undefined || whole === null || messages === undefined) return null;
  const elements = elementsOf(bytes, messages.start);
  if (elements === null || elements.length > maxMessages) return null;
  const fields = promptFields.flatMap((name) => {
    const range = whole.get(name);
    return range === undefined ? [] : [[name, hashOf(bytes, range)]];
  });
  return {
    fields: Object.fromEntries(fields),
    messages: elements.map((range) => ({ hash: hashOf(bytes, range), role: roleOf(bytes, range) })),
  };
}

interface Range {
  readonly start: number;
  readonly end: number;
}

function hashOf(bytes: Buffer, { start, end }: Range): string {
  return hash('sha1', bytes.subarray(start, end), 'base64url').slice(0, 16);
}

function roleOf(bytes: Buffer, { start }: Range): TurnMessage['role'] {
  const role = rangesOf(bytes, start)?.get('role');
  const text = role === undefined ? '' : bytes.toString('latin1', role.start + 1, role.end - 1);
  if (text === 'system' || text === 'developer') return 'system';
  return text === 'assistant' ? 'assistant' : 'user';
}

/** Where the values of the object at `start` are, by name; null where it is none, or cut off. */
function rangesOf(bytes: Buffer, start: number): Map<string, Range> | null {
  const found = new Map<string, Range>();
  let at = skipSpace(bytes, start);
  if (bytes[at] !== openBrace) return null;
  at = skipSpace(bytes, at + 1);
  while (bytes[at] === quote) {
    const nameEnd = closingQuote(bytes, at);
    const name = bytes.toString('utf8', at + 1, nameEnd);
    const valueStart = skipSpace(bytes, skipSpace(bytes, nameEnd + 1) + 1);
    const end = valueEnd(bytes, valueStart);
    if (end === null) return null;
    found.set(name, { start: valueStart, end });
    at = skipSpace(bytes, end);
    if (bytes[at] === comma) at = skipSpace(bytes, at + 1);
  }
  return bytes[at] === closeBrace ? found : null;
}

/** Where the elements of the list at `start` are; null where it is none, or cut off. */
function elementsOf(bytes: Buffer, start: number): Range[] | null {
  const found: Range[] = [];
  if (bytes[start] !== openBracket) return null;
  let at = skipSpace(bytes, start + 1);
  while (at < bytes.length && bytes[at] !== closeBracket) {
    const end = valueEnd(bytes, at);
    if (end === null || end === at) return null;
    found.push({ start: at, end });
    at = skipSpace(bytes, end);
    if (bytes[at] === comma) at = skipSpace(bytes, at + 1);
  }
  return at < bytes.length ? found : null;
}

/** After the value that begins at `start`; null where it has no end. */
function valueEnd(bytes: Buffer, start: number): number | null {
  let depth = 0;
  for (let at = start; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if (byte === quote) at = closingQuote(bytes, at);
    else if (byte === openBrace || byte === openBracket) depth += 1;
    else if (byte === closeBrace || byte === closeBracket) {
      if (depth === 0) return at;
      depth -= 1;
    } else {
      if (depth === 0 && (byte === comma || (byte ?? 0) <= space)) return at;
      continue;
    }
    if (depth === 0) return at < bytes.length ? at + 1 : null;
  }
  return null;
}

function skipSpace(bytes: Buffer, from: number): number {
  let at = from;
  while (at < bytes.length && (bytes[at] ?? 0) <= space) at += 1;
  return at;
}

const quote = 0x22;
const comma = 0x2c;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const space = 0x20;
