import type { Buffer } from 'node:buffer';
import { membersOf, skipSpace } from '../../formats/json/members.ts';
import { parseBounded } from '../../formats/json/scan.ts';

/** The fields of a JSON object, each value as the bytes in which it was sent. */
export type RawFields = ReadonlyMap<string, Buffer>;

/** A request has some thirty; each costs memory besides its bytes. */
export const maxFields = 1000;

/**
 * Finds the fields of a JSON object without parsing their values, since numbers that JavaScript cannot hold are passed on
 * too, and each value is validated where it is used. The last of repeated names counts; the others are used nowhere, so they are
 * parsed here. Null for bytes that are not an object. Throws as `parseRaw`, and `RangeError` if there are more than `maxFields`.
 */
export function readRawFields(bytes: Buffer, maxValues: number): RawFields | null {
  const object = membersOf(bytes, 0, maxFields);
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

/** Longer values of the protocol's own fields are not read: a name, an id, a flag. */
const maxOwnBytes = 4096;

/** The value of one of the protocol's own fields; undefined if it is absent. Throws as `parseRaw`, and `RangeError` for a long one. */
export function readOwnField(fields: RawFields, name: string, maxValues: number): unknown {
  const raw = fields.get(name);
  if (raw === undefined) return undefined;
  if (raw.length > maxOwnBytes) throw new RangeError(`'${name}' is too long: more than ${maxOwnBytes} bytes.`);
  return parseRaw(raw, maxValues);
}

/** The value of such bytes. Throws as `parseBounded`. */
export function parseRaw(bytes: Buffer, maxValues: number): unknown {
  return parseBounded(bytes.toString(), maxValues);
}
