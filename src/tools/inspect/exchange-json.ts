import { isUtf8 } from 'node:buffer';
import type { PieceLog, PiecePlace } from './piece-log.ts';
import { roundMs } from './piece-log.ts';
import type { BodyName } from './recording.ts';

/** Bytes that are converted to JSON at a time; a multiple of three, for base64. */
const sliceBytes = 48 * 1024;

/** An object as JSON; generators write its values. */
export function* jsonObject(values: Readonly<Record<string, Iterable<string>>>): Generator<string> {
  let before = '{';
  for (const [name, value] of Object.entries(values)) {
    yield `${before}${JSON.stringify(name)}:`;
    yield* value;
    before = ',';
  }
  yield before === '{' ? '{}' : '}';
}

/** The fields of an object of plain values, for `jsonObject`. */
export function jsonFields(object: object): Readonly<Record<string, Iterable<string>>> {
  return Object.fromEntries(Object.entries(object).map(([name, value]) => [name, [JSON.stringify(value)]]));
}

/** A list as JSON. */
export function* jsonList(values: Iterable<Iterable<string>>): Generator<string> {
  let before = '[';
  for (const value of values) {
    yield before;
    yield* value;
    before = ',';
  }
  yield before === '[' ? '[]' : ']';
}

/** The pieces of a body from `first` to before `end`, as an exchange file has them. */
export function piecesJson(log: PieceLog, body: BodyName, first: number, end: number): Generator<string> {
  function* pieces(): Generator<Iterable<string>> {
    let left = end - first;
    if (left <= 0) return;
    for (const place of log.places(body, first)) {
      yield jsonObject({ at_ms: [JSON.stringify(roundMs(place.atMs))], ...contentJson(log, [place], 'text') });
      left -= 1;
      if (left === 0) return;
    }
  }
  return jsonList(pieces());
}

/** These bytes as the field `base64`, or as the field called `name` if they are text. */
export function contentJson(
  log: PieceLog,
  places: readonly PiecePlace[],
  name: string,
): Readonly<Record<string, Iterable<string>>> {
  const whole = Buffer.concat(places.map(({ start, end }) => log.bytesAt(start, end)));
  return isUtf8(whole) ? { [name]: textJson(log, places) } : { base64: base64Json(log, places) };
}

function* textJson(log: PieceLog, places: readonly PiecePlace[]): Generator<string> {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  yield '"';
  for (const bytes of slices(log, places)) yield JSON.stringify(decoder.decode(bytes, { stream: true })).slice(1, -1);
  yield '"';
}

function* base64Json(log: PieceLog, places: readonly PiecePlace[]): Generator<string> {
  let rest = Buffer.alloc(0);
  yield '"';
  for (const bytes of slices(log, places)) {
    const all = Buffer.concat([rest, bytes]);
    const end = all.length - (all.length % 3);
    yield all.toString('base64', 0, end);
    rest = all.subarray(end);
  }
  yield rest.toString('base64');
  yield '"';
}

function* slices(log: PieceLog, places: readonly PiecePlace[]): Generator<Buffer> {
  for (const { start, end } of places)
    for (let at = start; at < end; at += sliceBytes) yield log.bytesAt(at, Math.min(at + sliceBytes, end));
}
