import { Buffer } from 'node:buffer';
import { GrowingBytes } from '../bytes/growing-bytes.ts';

export type SseMessage =
  | { readonly type: 'event'; readonly event: string | null; readonly data: string }
  | { readonly type: 'comment' };

/** An event is larger than the limit, or has more lines: the upstream is broken, or its body is not an event stream. */
export class SseLimitError extends Error {
  override readonly name = 'SseLimitError';
}

const lineFeedByte = 0x0a;
const carriageReturnByte = 0x0d;
const spaceByte = 0x20;
const colonByte = 0x3a;
const openingBraceByte = 0x7b;
const dataField = Buffer.from('data');
const eventField = Buffer.from('event');
const errorField = Buffer.from('error');
/** Stands for a line of data that was torn in the name of its field: data that begins like JSON and is not. */
const tornData: SseMessage = { type: 'event', event: null, data: '{' };
const comment: SseMessage = { type: 'comment' };
const noBytes = Buffer.alloc(0);
const lineFeed = Buffer.from('\n');

/**
 * Reads the event stream format (WHATWG HTML §9.2.6) from bytes cut anywhere, in linear time. Beyond the standard, these are events of
 * their own: a line that begins with `{` (some servers omit `data:`), the field `error` (llama.cpp, GPUStack), an event `error` without
 * data, and data that is an object in front of another (some servers omit blank lines). If a piece completes events and then exceeds the
 * limit, those are returned and the next call throws. docs/decisions/0007-hand-written-decoders.md says why this is written by hand.
 */
export class SseDecoder {
  readonly #maxEventBytes: number;
  /** The incomplete line, in a buffer that doubles when it is full, so that pieces of one byte are not quadratic. */
  #line = noBytes;
  #lineSize = 0;
  #data: string | null = null;
  /** Data of several lines, as bytes: a text that is joined line by line takes ten times as much memory. */
  readonly #lines = new GrowingBytes();
  #dataSize = 0;
  #event: string | null = null;
  /** The comment of an event `error`: its message where it has no data (ai-dynamo/dynamo#8674). */
  #errorComment = '';
  #atStart = true;
  #afterCr = false;
  #overflow = false;
  #messages: SseMessage[] | null = null;

  constructor({ maxEventBytes }: { readonly maxEventBytes: number }) {
    this.#maxEventBytes = maxEventBytes;
  }

  /** Returns the messages that these bytes complete. Throws `SseLimitError`. */
  push(bytes: Uint8Array): SseMessage[] {
    if (!this.#overflow)
      this.#read(Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
    return this.#take();
  }

  /** Ends the body, and returns an event that lacks its blank line. Throws `SseLimitError`. */
  finish(): SseMessage[] {
    if (!this.#overflow) {
      if (this.#lineSize > 0) this.#endLine(this.#line, 0, 0);
      this.#endEvent();
    }
    return this.#take();
  }

  pending(): number {
    return this.#lineSize + this.#dataSize;
  }

  #read(bytes: Buffer): void {
    let at = 0;
    if (this.#afterCr && bytes.length > 0) {
      this.#afterCr = false;
      if (bytes[0] === lineFeedByte) at = 1;
    }
    // JSON escapes line ends, so a CR can only be a line end of the stream; usually one search shows that there is none.
    let cr = bytes.indexOf(carriageReturnByte, at);
    let lf = bytes.indexOf(lineFeedByte, at);
    while (cr !== -1 || lf !== -1) {
      const byCr = cr !== -1 && (lf === -1 || cr < lf);
      const end = byCr ? cr : lf;
      if (this.pending() + end - at > this.#maxEventBytes) {
        this.#overflow = true;
        return;
      }
      this.#endLine(bytes, at, end);
      at = end + 1;
      if (byCr) {
        if (at === bytes.length) this.#afterCr = true;
        else if (bytes[at] === lineFeedByte) at += 1;
        cr = bytes.indexOf(carriageReturnByte, at);
      }
      // Usually a blank line follows: looking at one byte saves a search, an eighth of reading a burst.
      if (lf !== -1 && lf < at) lf = bytes[at] === lineFeedByte ? at : bytes.indexOf(lineFeedByte, at);
    }
    if (at === bytes.length) return;
    if (this.pending() + bytes.length - at > this.#maxEventBytes) this.#overflow = true;
    else this.#bufferLine(bytes, at, bytes.length);
  }

  #bufferLine(bytes: Buffer, start: number, end: number): void {
    const size = this.#lineSize + end - start;
    if (size > this.#line.length) {
      const larger = Buffer.allocUnsafe(Math.max(size, 2 * this.#line.length));
      this.#line.copy(larger, 0, 0, this.#lineSize);
      this.#line = larger;
    }
    bytes.copy(this.#line, this.#lineSize, start, end);
    this.#lineSize = size;
  }

  #endLine(bytes: Buffer, start: number, end: number): void {
    if (this.#lineSize === 0) {
      this.#readLine(bytes, start, end);
      return;
    }
    this.#bufferLine(bytes, start, end);
    const [whole, size] = [this.#line, this.#lineSize];
    this.#line = noBytes;
    this.#lineSize = 0;
    this.#readLine(whole, 0, size);
  }

  #readLine(bytes: Buffer, begin: number, end: number): void {
    const start = this.#atStart ? begin + byteOrderMarkBytes(bytes, begin, end) : begin;
    this.#atStart = false;
    if (start === end) {
      this.#endEvent();
      return;
    }
    switch (bytes[start]) {
      case colonByte:
        if (this.#event !== 'error') this.#emit(comment);
        else if (this.#errorComment === '') {
          this.#errorComment = bytes.toString('utf8', start + 1, end).trim();
          this.#dataSize += end - begin;
        }
        return;
      case openingBraceByte:
        this.#endEvent();
        this.#emit({ type: 'event', event: null, data: bytes.toString('utf8', start, end) });
        return;
    }
    const ofData = findValue(dataField, bytes, start, end);
    if (ofData !== -1) {
      if (this.#data !== null && bytes[ofData] === openingBraceByte && this.#isObject(this.#data)) {
        this.#emit({ type: 'event', event: this.#event, data: this.#data });
        this.#data = null;
        this.#dataSize = this.#event?.length ?? 0;
      }
      if (this.#data === null) this.#data = bytes.toString('utf8', ofData, end);
      else {
        if (this.#lines.length === 0) this.#lines.append(Buffer.from(this.#data));
        this.#lines.append(lineFeed);
        this.#lines.append(bytes.subarray(ofData, end));
      }
      this.#dataSize += end - begin;
      return;
    }
    const ofEvent = findValue(eventField, bytes, start, end);
    if (ofEvent !== -1) {
      this.#event = bytes.toString('utf8', ofEvent, end) || null;
      this.#dataSize += end - begin;
      return;
    }
    const ofError = findValue(errorField, bytes, start, end);
    if (ofError === -1) {
      const size = end - start;
      if (size < dataField.length && bytes.compare(dataField, 0, size, start, end) === 0) this.#emit(tornData);
      return;
    }
    this.#endEvent();
    this.#emit({ type: 'event', event: 'error', data: bytes.toString('utf8', ofError, end) });
  }

  /** Is the data one line that looks like an object, which another object cannot continue? */
  #isObject(data: string): boolean {
    return this.#lines.length === 0 && data.startsWith('{') && data.endsWith('}');
  }

  #endEvent(): void {
    if (this.#data !== null) this.#emit({ type: 'event', event: this.#event, data: this.#wholeData(this.#data) });
    else if (this.#event === 'error') this.#emit({ type: 'event', event: 'error', data: this.#errorComment });
    this.#data = null;
    this.#dataSize = 0;
    this.#event = null;
    this.#errorComment = '';
  }

  #wholeData(first: string): string {
    if (this.#lines.length === 0) return first;
    const data = this.#lines.whole().toString('utf8');
    this.#lines.clear();
    return data;
  }

  #emit(message: SseMessage): void {
    // Usually a piece holds one message, and an array literal takes a tenth of the memory of a growing array.
    if (this.#messages === null) this.#messages = [message];
    else this.#messages.push(message);
  }

  #take(): SseMessage[] {
    const taken = this.#messages;
    this.#messages = null;
    if (this.#overflow) {
      this.#line = noBytes;
      this.#lineSize = 0;
      this.#data = null;
      this.#lines.clear();
      this.#dataSize = 0;
      if (taken === null)
        throw new SseLimitError(`An event of the upstream is larger than ${this.#maxEventBytes} bytes.`);
    }
    return taken ?? [];
  }
}

/** Returns the offset of the field's value in a line; -1 if the line is another field. */
function findValue(field: Buffer, bytes: Buffer, start: number, end: number): number {
  const colon = start + field.length;
  if (colon > end) return -1;
  for (let index = 0; index < field.length; index++) if (bytes[start + index] !== field[index]) return -1;
  if (colon === end) return end;
  if (bytes[colon] !== colonByte) return -1;
  return colon + 1 < end && bytes[colon + 1] === spaceByte ? colon + 2 : colon + 1;
}

function byteOrderMarkBytes(bytes: Buffer, start: number, end: number): 0 | 3 {
  return end - start >= 3 && bytes[start] === 0xef && bytes[start + 1] === 0xbb && bytes[start + 2] === 0xbf ? 3 : 0;
}
