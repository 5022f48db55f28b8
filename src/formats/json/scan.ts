/**
 * One pass over the bytes of JSON before they are parsed. It stops where either limit is crossed. Gives the offset at which it is
 * nested too deep (the parser itself would go on until memory runs out), null if nowhere; whether a number is long enough to be
 * worth a slower, exact parse; and an upper bound of its values: each bracket and each comma counts as one.
 */
export function scanJson(
  bytes: Uint8Array,
  { maxNesting = Number.POSITIVE_INFINITY, maxValues = Number.POSITIVE_INFINITY } = {},
) {
  let depth = 0;
  let values = 1;
  let mayLoseNumbers = false;
  for (let at = 0; at < bytes.length && values <= maxValues; at++) {
    switch (bytes[at]) {
      case 0x22: // a string, up to its closing quote
        at = closingQuote(bytes, at);
        break;
      case 0x5b:
      case 0x7b:
        depth++;
        values++;
        if (depth > maxNesting) return { tooDeepAt: at, mayLoseNumbers, values };
        break;
      case 0x5d:
      case 0x7d:
        depth--;
        break;
      case 0x2c:
        values++;
        break;
      default: {
        const start = at;
        while (isDigitOrPoint(bytes[at])) at++;
        if (at === start) break;
        if (at - start > 15 || bytes[at] === 0x65 || bytes[at] === 0x45) mayLoseNumbers = true; // long, or 1e400
        at--; // the loop steps over the number's last byte
      }
    }
  }
  return { tooDeepAt: null, mayLoseNumbers, values };
}

/**
 * The closing quote of the string that opens at `start`, or the end of the bytes. `start` may be anywhere in it except
 * at the backslash of an escape. Most strings are short; long ones are texts or images, for which the native search is
 * fifty times faster.
 */
export function closingQuote(bytes: Uint8Array, start: number): number {
  let at = start + 1;
  while (at < bytes.length) {
    for (const near = at + 64; at < near && at < bytes.length; at++) {
      if (bytes[at] === 0x22) return at;
      if (bytes[at] === 0x5c) at++;
    }
    const quote = bytes.indexOf(0x22, at);
    if (quote === -1) return bytes.length;
    let backslashes = 0;
    while (quote - 1 - backslashes >= at && bytes[quote - 1 - backslashes] === 0x5c) backslashes++;
    if (backslashes % 2 === 0) return quote;
    at = quote + 1;
  }
  return bytes.length;
}

function isDigitOrPoint(byte: number | undefined): boolean {
  return byte !== undefined && ((byte >= 0x30 && byte <= 0x39) || byte === 0x2e);
}
