import { Buffer } from 'node:buffer';

/**
 * The bytes for whoever keeps them: copied where they are a view of less than half of what is in memory for them, as what was cut
 * out of one read of a socket is, and small buffers are that Node cuts out of its pool of 8 KiB.
 */
export function ownBytes(bytes: Buffer): Buffer {
  return bytes.length * 2 < bytes.buffer.byteLength ? joinBytes([bytes]) : bytes;
}

/** The bytes of all pieces in one buffer of their own. */
export function joinBytes(pieces: readonly Uint8Array[]): Buffer {
  const bytes = Buffer.allocUnsafeSlow(pieces.reduce((sum, piece) => sum + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    bytes.set(piece, at);
    at += piece.length;
  }
  return bytes;
}
