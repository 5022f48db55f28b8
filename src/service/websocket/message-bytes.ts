import type { ApiError } from '../../filter/index.ts';
import type { Admission } from '../memory/overload.ts';

/** Bytes that an open connection takes with nothing in it: its socket, its buffers, the objects around it. */
const connectionBytes = 20 * 1024;
/** Bytes that a frame has beside its payload, at least. */
const frameHeadBytes = 6;

/** The bytes of a connection's messages, from their arrival to the end of their turns; the ledger is told of each change. */
export class MessageBytes {
  readonly #account: Pick<Admission, 'hold'>;
  /** Bytes of a message that has not arrived completely. */
  #arriving = 0;
  #lastRead = 0;
  /** Bytes of messages whose turns have not ended, with what these keep. */
  #ofTurns = 0;
  /** Bytes of the turns that the proxy has not taken yet. */
  #untaken = 0;

  constructor(account: Pick<Admission, 'hold'>) {
    this.#account = account;
    account.hold(connectionBytes);
  }

  /** Counts the bytes of one read of the socket, without telling the ledger: a message may end in them. */
  read(bytes: number): void {
    this.#arriving += bytes;
    this.#lastRead = bytes;
  }

  /** Takes off a control frame with a payload of so many bytes, which is no part of the message that it came in. */
  onControlFrame(bytes: number): void {
    this.#arriving = Math.max(this.#arriving - bytes - frameHeadBytes, 0);
    this.tell();
  }

  /** Takes off a message of so many bytes. What is left was read with its end, and begins the next one. */
  onMessage(bytes: number): void {
    this.#arriving = Math.min(Math.max(this.#arriving - bytes, 0), this.#lastRead);
    this.tell();
  }

  /** Counts bytes of turns, as `ConnectionHost.hold` says. */
  hold(bytes: number, untaken: number): ApiError | null {
    this.#ofTurns += bytes;
    this.#untaken += untaken;
    const overload = this.tell();
    if (overload === null || untaken <= 0) return null;
    this.#ofTurns -= bytes;
    this.#untaken -= untaken;
    this.tell();
    return overload;
  }

  /** Tells the ledger. Returns the error for the client if there is no room; until the bytes are gone, they still count. */
  tell(): ApiError | null {
    const bytes = connectionBytes + this.#arriving + this.#ofTurns;
    const overload = this.#account.hold(bytes, this.#arriving + this.#untaken);
    if (overload !== null) this.#account.hold(bytes);
    return overload;
  }
}
