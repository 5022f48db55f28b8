import type { ExchangeReply } from '../../filter/index.ts';
import { GrowingBytes } from '../../formats/bytes/growing-bytes.ts';
import { type BodyKind, hasError, maxKnownLength, type Redactor } from '../../formats/credentials/redactor.ts';
import { findEndOfPart, type StoredExchange } from './exchange-store.ts';
import { type BodyName, maxBodyBytes } from './recording.ts';

export type BodyRecord = ReturnType<typeof createBodyRecord>;

/**
 * Records a body without its credentials: when it is whole, or of a stream when an event is, since pieces may be cut anywhere.
 * Until then its pieces are joined, since a view of each would take several times what is counted.
 */
export function createBodyRecord(kept: StoredExchange, name: BodyName, redactor: Redactor, kind: BodyKind) {
  let isStream: boolean | null = null;
  const held = new GrowingBytes();
  let omitted = 0;

  function hold(bytes: Uint8Array, isLast: boolean): void {
    if (bytes.length === 0) return;
    held.append(bytes, 0, isLast);
    kept.hold(bytes.length);
  }

  /** Ends the record: no more bytes or events of this body arrive. `decode` removes the body's content coding. */
  function end(at: number, decode = (bytes: Uint8Array) => bytes): void {
    const text = decodeLatin1(decode(held.whole()));
    kept.hold(-held.length);
    held.clear();
    if (kind === 'answer' && hasError(text)) kind = 'error';
    const shown = redactor.body(text, kind, (bytes) => {
      omitted += bytes;
    });
    // A known credential may begin in the shown text and end in what was omitted.
    const last = findEndOfPart(shown, 0, omitted > 0 ? Math.max(0, shown.length - maxKnownLength) : shown.length);
    kept.addPiece(name, at, shown.slice(0, last));
    if (omitted > 0) kept.omit(name, omitted + shown.length - last);
    omitted = 0;
  }

  return {
    push(at: number, bytes: Uint8Array): void {
      if (bytes.length === 0) return;
      const taken = bytes.subarray(0, Math.min(maxBodyBytes - held.length, kept.room));
      omitted += bytes.length - taken.length;
      isStream ??= kind === 'answer' && !/^\s*[[{]/.test(decodeLatin1(taken.subarray(0, 64)));
      const whole = isStream ? findEndOfEvents(taken) : 0;
      hold(taken.subarray(0, whole), true);
      if (whole > 0) end(at);
      hold(taken.subarray(whole), false);
      if (isStream && omitted > 0) end(at);
    },
    end,
  };
}

/** The offset behind the last blank line of the bytes; 0 if there is none. */
function findEndOfEvents(bytes: Uint8Array): number {
  const text = decodeLatin1(bytes);
  const ends = ['\n\n', '\n\r\n'].map((end) => [text.lastIndexOf(end), end.length] as const);
  return Math.max(...ends.map(([at, length]) => (at === -1 ? 0 : at + length)));
}

function decodeLatin1(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
}

/**
 * A piece of an upstream's stream cut into its chunks, each with the events that it became; `counts` says how many those are.
 * Null if the bytes cannot be cut that way: a compressed piece, an answer in JSON, a reply that leaves the body as it is.
 */
export function splitBurst(
  piece: Uint8Array,
  replies: readonly ExchangeReply[],
  counts: readonly number[],
): readonly Record<'chunk' | 'events', Uint8Array>[] | null {
  const chunks = splitMessages(Buffer.from(piece));
  const bodies = replies.flatMap((reply) => (reply.type === 'response_body' && reply.body ? [reply.body] : []));
  const events = splitMessages(Buffer.concat(bodies));
  const wanted = counts.reduce((sum, count) => sum + count, 0);
  if (chunks.length < counts.length || chunks.length > counts.length + 1 || events.length < wanted) return null;
  let next = 0;
  return chunks.map((chunk, index) => {
    // What ends the stream follows the events of the last chunk; bytes after that belong to an incomplete chunk.
    const end = index === counts.length - 1 ? events.length : next + (counts[index] ?? 0);
    const own = events.slice(next, end);
    next = end;
    return { chunk, events: Buffer.concat(own) };
  });
}

/** Splits a stream into its messages. The last one may be incomplete. */
function splitMessages(bytes: Buffer): readonly Buffer[] {
  const text = bytes.toString('latin1');
  const ends = [...text.matchAll(/\r\n\r\n|\n\n/g)].map(({ index, 0: end }) => index + end.length);
  if (ends.at(-1) !== bytes.length && bytes.length > 0) ends.push(bytes.length);
  return ends.map((end, index) => bytes.subarray(ends[index - 1] ?? 0, end));
}
