import { type BodyKind, hasError, maxKnownLength, type Redactor } from '../redact/redactor.ts';
import { endOfPart, type StoredExchange } from './exchange-store.ts';
import { type BodyName, maxBodyBytes } from './recording.ts';

/**
 * Records a body without its credentials: when it is whole, or of a stream when an event is, since pieces may be cut anywhere.
 * Until then its pieces are views of what arrived, not copies, and counted as the exchange's.
 */
export class BodyRecord {
  readonly #kept: StoredExchange;
  readonly #name: BodyName;
  readonly #redactor: Redactor;
  #kind: BodyKind;
  #isStream: boolean | null = null;
  #held: Uint8Array[] = [];
  #size = 0;
  #omitted = 0;

  constructor(kept: StoredExchange, name: BodyName, redactor: Redactor, kind: BodyKind) {
    this.#kept = kept;
    this.#name = name;
    this.#redactor = redactor;
    this.#kind = kind;
  }

  push(at: number, bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    const taken = bytes.subarray(0, Math.min(maxBodyBytes - this.#size, this.#kept.room));
    this.#omitted += bytes.length - taken.length;
    this.#isStream ??= this.#kind === 'answer' && !/^\s*[[{]/.test(latin1Of(taken.subarray(0, 64)));
    const end = this.#isStream ? endOfEvents(taken) : 0;
    this.#hold(taken.subarray(0, end));
    if (end > 0) this.end(at);
    this.#hold(taken.subarray(end));
    if (this.#isStream && this.#omitted > 0) this.end(at);
  }

  /** Nothing more comes of it, or of its events. `decode` undoes its content coding. */
  end(at: number, decode = (bytes: Uint8Array) => bytes): void {
    const [only = noBytes, ...more] = this.#held;
    const text = latin1Of(decode(more.length === 0 ? only : Buffer.concat(this.#held)));
    this.#kept.hold(-this.#size);
    [this.#held, this.#size] = [[], 0];
    if (this.#kind === 'answer' && hasError(text)) this.#kind = 'error';
    const shown = this.#redactor.body(text, this.#kind);
    // A known credential may begin where the rest was not taken.
    const end = endOfPart(shown, 0, this.#omitted > 0 ? Math.max(0, shown.length - maxKnownLength) : shown.length);
    this.#kept.addPiece(this.#name, at, shown.slice(0, end));
    if (this.#omitted > 0) this.#kept.omit(this.#name, this.#omitted + shown.length - end);
    this.#omitted = 0;
  }

  #hold(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    this.#held.push(bytes);
    this.#size += bytes.length;
    this.#kept.hold(bytes.length);
  }
}

/** Behind the last blank line; 0 if there is none. */
function endOfEvents(bytes: Uint8Array): number {
  const text = latin1Of(bytes);
  const ends = ['\n\n', '\n\r\n'].map((end) => [text.lastIndexOf(end), end.length] as const);
  return Math.max(...ends.map(([at, length]) => (at === -1 ? 0 : at + length)));
}

function latin1Of(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
}

const noBytes = new Uint8Array(0);
