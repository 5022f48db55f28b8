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
