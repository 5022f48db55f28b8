/** Bytes of one streamed body reply: Envoy accepts messages of up to 64 KiB, and the fields around the body need a few. */
export const maxPieceBytes = 62_000;

/** The bytes in pieces of at most `maxPieceBytes`, cut anywhere; no pieces for no bytes. */
export function cutBytes(bytes: Buffer): Buffer[] {
  const pieces: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += maxPieceBytes) pieces.push(bytes.subarray(at, at + maxPieceBytes));
  return pieces;
}

/** Pieces that end between events; one beyond the limit is a piece, as some clients lose an event that is cut. */
export function cutEvents(bytes: Buffer): Buffer[] {
  if (bytes.length <= maxPieceBytes) return bytes.length === 0 ? [] : [bytes];
  const pieces: Buffer[] = [];
  let at = 0;
  while (bytes.length - at > maxPieceBytes) {
    // Data is one line of JSON: a blank line is always the end of an event.
    let end = bytes.lastIndexOf('\n\n', at + maxPieceBytes - 2);
    if (end < at) end = bytes.indexOf('\n\n', at);
    if (end === -1) break;
    pieces.push(bytes.subarray(at, end + 2));
    at = end + 2;
  }
  if (at < bytes.length) pieces.push(bytes.subarray(at));
  return pieces;
}
