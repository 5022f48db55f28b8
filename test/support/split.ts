/** The bytes in pieces of one size; the last may be smaller. */
export function* inPiecesOf(size: number, bytes: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

/** Every way to cut the bytes in two, and then one byte at a time; each with a description. */
export function* everyCut(bytes: Uint8Array): Generator<{ how: string; pieces: Iterable<Uint8Array> }> {
  for (let at = 1; at < bytes.length; at++)
    yield { how: `cut at byte ${at}`, pieces: [bytes.subarray(0, at), bytes.subarray(at)] };
  yield { how: 'byte by byte', pieces: inPiecesOf(1, bytes) };
}

/**
 * Every place where a stream of events can be cut, in as few readings as its longest event has bytes: each reading has one cut
 * in each event, as far from the event's first byte as the others. Then one byte at a time; each with a description.
 */
export function* everyCutOfEvents(bytes: Buffer): Generator<{ how: string; pieces: Iterable<Uint8Array> }> {
  const starts = [0];
  for (let at = bytes.indexOf('\n\n'); at >= 0 && at + 2 < bytes.length; at = bytes.indexOf('\n\n', at + 2))
    starts.push(at + 2);
  const lengths = starts.map((start, index) => (starts[index + 1] ?? bytes.length) - start);
  for (let offset = 0; offset < Math.max(...lengths); offset++) {
    const cuts = starts.flatMap((start, index) => (offset < (lengths[index] ?? 0) ? [start + offset] : []));
    const ends = [...cuts.filter((cut) => cut > 0), bytes.length];
    yield {
      how: `cut after ${offset} bytes of each event`,
      pieces: ends.map((end, index) => bytes.subarray(ends[index - 1] ?? 0, end)),
    };
  }
  yield { how: 'byte by byte', pieces: inPiecesOf(1, bytes) };
}
