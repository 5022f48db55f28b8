/** Finds the end of a JSON object or array in bytes cut anywhere; returns true from the piece on that contains it. */
export function createJsonEnd(): (bytes: Uint8Array) => boolean {
  let depth = 0;
  let inString = false;
  let escaped = false;
  let ended = false;
  return (bytes) => {
    for (const byte of bytes) {
      if (ended) break;
      if (escaped) escaped = false;
      else if (inString) {
        if (byte === 0x5c) escaped = true;
        else if (byte === 0x22) inString = false;
      } else if (byte === 0x22) inString = true;
      else if (byte === 0x7b || byte === 0x5b) depth += 1;
      else if (byte === 0x7d || byte === 0x5d) {
        depth -= 1;
        ended = depth <= 0;
      }
    }
    return ended;
  };
}
