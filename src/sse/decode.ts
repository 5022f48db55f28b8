/** What a server-sent event stream says, one message each. */
export type SseMessage =
  | { readonly type: 'event'; readonly event: string | null; readonly data: string }
  | { readonly type: 'comment' };

export interface SseDecoder {
  /** Bytes cut anywhere in; the messages they complete out. Throws `SseLimitError`. */
  push(bytes: Uint8Array): SseMessage[];
  /** The end of the body: an event that lacks its blank line still counts. Throws `SseLimitError`. */
  finish(): SseMessage[];
  /** Bytes held for an event that is not complete. */
  readonly pending: number;
}

/** One event is larger than the limit: the upstream is broken, or not speaking SSE at all. */
export class SseLimitError extends Error {
  override readonly name = 'SseLimitError';
  constructor(maxEventBytes: number) {
    super(`An event of the upstream is larger than ${maxEventBytes} bytes.`);
  }
}

const LF = 0x0a;
const CR = 0x0d;
const comment: SseMessage = { type: 'comment' };

/**
 * Reads the event stream format (WHATWG HTML §9.2.6) from bytes cut anywhere, even inside a character or between CR
 * and LF. Text is decoded a line at a time, work is linear in the bytes however small the pieces are. Beyond the
 * standard, a line that begins with `{` is an event of its own: some servers send errors or all chunks without `data:`.
 *
 * What an oversized event's own piece completed before it is given first; the next call throws.
 */
export function createSseDecoder(limits: { readonly maxEventBytes: number }): SseDecoder {
  // The line that is not complete. It grows by doubling, so that a piece of one byte costs one byte.
  let line = Buffer.alloc(0);
  let lineSize = 0;
  let data: string | null = null;
  let dataSize = 0;
  let event: string | null = null;
  let atStart = true;
  let afterCr = false;
  let overflow = false;
  let messages: SseMessage[] = [];

  function hold(bytes: Uint8Array): void {
    const size = lineSize + bytes.length;
    if (size > line.length) {
      const larger = Buffer.allocUnsafe(Math.max(size, 2 * line.length));
      line.copy(larger, 0, 0, lineSize);
      line = larger;
    }
    line.set(bytes, lineSize);
    lineSize = size;
  }

  /** The line that `tail` completes. */
  function takeLine(tail: Uint8Array): Buffer {
    if (lineSize === 0) return Buffer.from(tail.buffer, tail.byteOffset, tail.byteLength);
    hold(tail);
    const whole = line.subarray(0, lineSize);
    line = Buffer.alloc(0);
    lineSize = 0;
    return whole;
  }

  function endEvent(): void {
    if (data !== null) messages.push({ type: 'event', event, data });
    data = null;
    dataSize = 0;
    event = null;
  }

  function readLine(bytes: Buffer): void {
    let start = 0;
    if (atStart) {
      atStart = false;
      if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) start = 3;
    }
    switch (bytes[start]) {
      case undefined:
        endEvent();
        return;
      case 0x3a: // ':'
        messages.push(comment);
        return;
      case 0x7b: // '{'
        endEvent();
        messages.push({ type: 'event', event: null, data: bytes.toString('utf8', start) });
        return;
    }
    const colon = bytes.indexOf(0x3a, start);
    const name = bytes.toString('latin1', start, colon === -1 ? bytes.length : colon);
    if (name !== 'data' && name !== 'event') return;
    let from = colon === -1 ? bytes.length : colon + 1;
    if (bytes[from] === 0x20) from += 1;
    const value = bytes.toString('utf8', from);
    if (name === 'event') event = value === '' ? null : value;
    else data = data === null ? value : `${data}\n${value}`;
    dataSize += bytes.length;
  }

  function read(bytes: Uint8Array): void {
    let at = 0;
    if (afterCr && bytes.length > 0) {
      afterCr = false;
      if (bytes[0] === LF) at = 1;
    }
    // JSON escapes its line ends, so a CR is one of the stream's own: nearly always there is none to look for again.
    let cr = bytes.indexOf(CR, at);
    let lf = bytes.indexOf(LF, at);
    while (cr !== -1 || lf !== -1) {
      const byCr = cr !== -1 && (lf === -1 || cr < lf);
      const end = byCr ? cr : lf;
      if (lineSize + dataSize + end - at > limits.maxEventBytes) {
        overflow = true;
        return;
      }
      readLine(takeLine(bytes.subarray(at, end)));
      at = end + 1;
      if (byCr) {
        if (at === bytes.length) afterCr = true;
        else if (bytes[at] === LF) at += 1;
        cr = bytes.indexOf(CR, at);
      }
      if (lf !== -1 && lf < at) lf = bytes.indexOf(LF, at);
    }
    if (at === bytes.length) return;
    if (lineSize + dataSize + bytes.length - at > limits.maxEventBytes) overflow = true;
    else hold(bytes.subarray(at));
  }

  function take(): SseMessage[] {
    const taken = messages;
    messages = [];
    if (overflow) {
      line = Buffer.alloc(0);
      lineSize = 0;
      data = null;
      dataSize = 0;
      if (taken.length === 0) throw new SseLimitError(limits.maxEventBytes);
    }
    return taken;
  }

  return {
    push(bytes) {
      if (!overflow) read(bytes);
      return take();
    },
    finish() {
      if (!overflow) {
        if (lineSize > 0) readLine(takeLine(new Uint8Array(0)));
        endEvent();
      }
      return take();
    },
    get pending() {
      return lineSize + dataSize;
    },
  };
}
