/**
 * The bytes in a form that is safe to keep. Node reads from a socket once for many calls, so a small view would keep
 * the whole buffer alive: a view of less than half of its buffer is copied.
 */
export function retainable<Bytes extends Uint8Array>(bytes: Bytes): Bytes | Buffer {
  return bytes.length * 2 < bytes.buffer.byteLength ? Buffer.from(bytes) : bytes;
}
