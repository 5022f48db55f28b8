/** Reads JSON before it is parsed, up to a limit: where it is nested too deep, if it needs the exact parser, and how many values it has at most. */
export function scanJson(
  text: string,
  { maxNesting = Number.POSITIVE_INFINITY, maxValues = Number.POSITIVE_INFINITY } = {},
) {
  let depth = 0;
  let values = 1;
  let mayLoseNumbers = false;
  for (let at = 0; at < text.length && values <= maxValues; at++) {
    const code = text.charCodeAt(at);
    switch (code) {
      case 0x22: // a string, up to its closing quote
        at = closingQuote(text, at);
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
        if (!isDigit(code)) break;
        const first = at;
        while (isDigit(text.charCodeAt(at)) || text[at] === '.') at++;
        if (at - first > 15 || text[at] === 'e' || text[at] === 'E') mayLoseNumbers = true; // long, or 1e400
        at--; // the loop steps over the number's last character
      }
    }
  }
  return { tooDeepAt: null, mayLoseNumbers, values };
}

/** Does the JSON hold more values, as `scanJson` counts them? A text that is too short for so many is not read. */
export function hasMoreValues(text: string, maxValues: number): boolean {
  return text.length > maxValues && scanJson(text, { maxValues }).values > maxValues;
}

/** Finds the closing quote of the string that opens at `start`, else the end of the text; the native search is faster than a loop. */
export function closingQuote(text: string, start: number): number {
  for (let quote = text.indexOf('"', start + 1); quote !== -1; quote = text.indexOf('"', quote + 1)) {
    let backslashes = 0;
    while (text.charCodeAt(quote - 1 - backslashes) === 0x5c) backslashes++;
    if (backslashes % 2 === 0) return quote;
  }
  return text.length;
}

/** Finds the end of a string whose text comes in pieces, cut anywhere, also within an escape. */
export class OpenString {
  /** The last piece ended with the backslash of an escape. */
  isEscaped = false;

  /** Reads a piece from an offset behind the opening quote. Returns the offset behind the closing quote; -1 if the piece has none. */
  end(text: string, from: number): number {
    let at = this.isEscaped ? from + 1 : from;
    for (let code = text.charCodeAt(at); at < text.length; code = text.charCodeAt(at)) {
      at += code === 0x5c ? 2 : 1;
      if (code !== 0x22) continue;
      this.isEscaped = false;
      return at;
    }
    this.isEscaped = at > text.length;
    return -1;
  }
}

/** Finds the closing quote in bytes, from anywhere in the string but an escape. In long texts, the native search is fifty times faster. */
export function closingQuoteInBytes(bytes: Uint8Array, start: number): number {
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

export function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

/** The most levels of foreign JSON that is written again: Node 24's stack ends at some 5,000, and an item of this service may have 2,500. */
const maxNesting = 3_000;

/** Parses foreign JSON that `JSON.stringify` can write again. Throws `SyntaxError`, or `RangeError` for too many values or levels. */
export function parseBounded(text: string, maxValues: number): unknown {
  if (text.length > Math.min(maxValues, 2 * maxNesting)) {
    const { values, tooDeepAt } = scanJson(text, { maxValues, maxNesting });
    if (values > maxValues) throw new RangeError(`The message holds too many values: more than ${maxValues}.`);
    if (tooDeepAt !== null) throw new RangeError(`The message is nested too deep: more than ${maxNesting} levels.`);
  }
  return JSON.parse(text);
}
