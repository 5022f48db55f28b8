import type { Buffer } from 'node:buffer';
import { findMembers, skipSpace } from '../../formats/json/members.ts';
import { parseBounded } from '../../formats/json/scan.ts';

/** The fields of a JSON object, each value as the bytes in which it was sent. */
export type RawFields = ReadonlyMap<string, Buffer>;

/** A request has some thirty fields; each costs memory besides its bytes. */
export const maxFields = 1000;

/**
 * Reads the fields of a JSON object without parsing their values, which may be numbers that JavaScript cannot hold, and are validated
 * where they are used. The last of repeated names counts; the values of the others are parsed here, because nobody else validates
 * them. Null for bytes that are not an object. Throws as `parseBounded`, and `RangeError` for more than `maxFields` fields.
 */
export function readRawFields(bytes: Buffer, maxValues: number): RawFields | null {
  const object = findMembers(bytes, 0, maxFields);
  if (object?.type !== 'object') return null;
  if (object.isCut) throw new RangeError(`The message has too many fields: more than ${maxFields}.`);
  if (skipSpace(bytes, object.end) !== bytes.length) return null;
  const fields = new Map<string, Buffer>();
  for (const { name, start, end } of object.members) {
    const repeated = fields.get(name);
    if (repeated !== undefined) parseRaw(repeated, maxValues);
    fields.set(name, bytes.subarray(start, end));
  }
  return fields;
}

/** The WebSocket protocol's own fields are short: a name, an id, a flag. */
const maxOwnBytes = 4096;

/** Reads one of the protocol's own fields; undefined if it is absent. Throws as `parseBounded`, and `RangeError` for a long value. */
export function readOwnField(fields: RawFields, name: string, maxValues: number): unknown {
  const raw = fields.get(name);
  if (raw === undefined) return undefined;
  if (raw.length > maxOwnBytes) throw new RangeError(`'${name}' is too long: more than ${maxOwnBytes} bytes.`);
  return parseRaw(raw, maxValues);
}

export function parseRaw(bytes: Buffer, maxValues: number): unknown {
  return parseBounded(bytes.toString(), maxValues);
}

/** Parses JSON that may come from any server; undefined for what `parseBounded` refuses. */
export function readJson(text: string, maxValues: number): unknown {
  try {
    return parseBounded(text, maxValues);
  } catch {
    return undefined;
  }
}
