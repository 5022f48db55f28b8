import type { BodyName } from './recording.ts';
import { cutComment } from './view/delta-texts.ts';

export type AnswerBody = Extract<BodyName, `${string}_response`>;

interface TailPiece {
  readonly body: AnswerBody;
  readonly atMs: number;
  readonly bytes: Uint8Array;
}

/** The upstream's last chunk, which has the usage, is short; the client's last event repeats the whole Response. */
const upstreamShare = 1 / 8;

/**
 * The newest pieces of an answer that is too long to be kept whole: older ones are discarded. Pieces of a stream that is
 * cut begin with a whole event, after a comment that says what is missing.
 */
export class AnswerTail {
  readonly #maxBytes: Readonly<Record<AnswerBody, number>>;
  readonly #size: Record<AnswerBody, number> = { chat_response: 0, client_response: 0 };
  readonly #lost: Record<AnswerBody, number> = { chat_response: 0, client_response: 0 };
  #pieces: TailPiece[] = [];

  constructor(maxBytes: number) {
    const upstream = Math.floor(maxBytes * upstreamShare);
    this.#maxBytes = { chat_response: upstream, client_response: Math.floor(maxBytes) - upstream };
  }

  has(body: AnswerBody): boolean {
    return this.#size[body] > 0;
  }

  get heldBytes(): number {
    return this.#size.chat_response + this.#size.client_response;
  }

  /** Bytes that were pushed, including those that are gone. */
  waiting(): Readonly<Record<AnswerBody, number>> {
    const [size, lost] = [this.#size, this.#lost];
    return {
      chat_response: size.chat_response + lost.chat_response,
      client_response: size.client_response + lost.client_response,
    };
  }

  /** Copies the bytes, as many of the newest as there is room for. Returns how many more bytes are held now. */
  push(body: AnswerBody, atMs: number, bytes: Uint8Array): number {
    const before = this.heldBytes;
    const room = this.#maxBytes[body];
    const kept = bytes.subarray(Math.max(0, bytes.length - room)).slice();
    this.#lost[body] += bytes.length - kept.length;
    this.#pieces.push({ body, atMs, bytes: kept });
    this.#size[body] += kept.length;
    while (this.#size[body] > room) this.#dropOldest(body);
    return this.heldBytes - before;
  }

  /** What is held, in the order in which it came, and how many bytes were lost before it. Empties the tail. */
  take(): { readonly pieces: readonly TailPiece[]; readonly omitted: Readonly<Record<AnswerBody, number>> } {
    const pieces = this.#pieces;
    const omitted = { ...this.#lost };
    for (const body of ['chat_response', 'client_response'] as const) {
      if (omitted[body] > 0) omitted[body] += beginWhole(pieces, body, omitted[body]);
      this.#size[body] = 0;
      this.#lost[body] = 0;
    }
    this.#pieces = [];
    return { pieces, omitted };
  }

  #dropOldest(body: AnswerBody): void {
    const index = this.#pieces.findIndex((piece) => piece.body === body);
    const [dropped] = this.#pieces.splice(index, 1);
    const bytes = dropped?.bytes.length ?? 0;
    this.#size[body] -= bytes;
    this.#lost[body] += bytes;
  }
}

/** Cuts the body's pieces so that they begin with an event, if they have one, after a comment. Returns the bytes cut off. */
function beginWhole(pieces: TailPiece[], body: AnswerBody, lost: number): number {
  let cut = 0;
  for (const [index, piece] of pieces.entries()) {
    if (piece.body !== body) continue;
    const text = Buffer.from(piece.bytes).toString('latin1');
    const [end] = /\r?\n\r?\n/.exec(text) ?? [];
    const at = end === undefined ? -1 : text.indexOf(end) + end.length;
    if (at === -1) {
      cut += piece.bytes.length;
      pieces[index] = { ...piece, bytes: nothing };
      continue;
    }
    cut += at;
    const comment = Buffer.from(`\n\n: ${lost + cut} ${cutComment}\n\n`);
    pieces[index] = { ...piece, bytes: Buffer.concat([comment, piece.bytes.subarray(at)]) };
    return cut;
  }
  return cut;
}

const nothing = new Uint8Array(0);
