import type { ExchangeReply } from '../../filter/index.ts';

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
