import type { ApiError } from '../../filter/index.ts';
import type { Admission } from '../memory/overload.ts';

/** Bytes that an idle connection takes: its socket, its buffers, the objects around it. */
const connectionBytes = 20 * 1024;
/** The least bytes of a frame besides its payload. */
const frameHeadBytes = 6;

/** Counts the bytes of a connection's messages, from their arrival to the end of their turns, in the ledger of memory. */
export class MessageBytes {
  readonly #account: Pick<Admission, 'hold'>;
  /** Bytes of a message that has not arrived completely. */
  #arriving = 0;
  #lastRead = 0;
  /** Bytes of messages whose turns have not ended, and bytes that the turns keep. */
  #ofTurns = 0;
  /** Bytes of messages that the proxy has not taken yet. */
  #untaken = 0;

  constructor(account: Pick<Admission, 'hold'>) {
    this.#account = account;
    account.hold(connectionBytes);
  }

  /** Counts the bytes of one read of the socket. The ledger is not told before `tell`, because a message may end in them. */
  read(bytes: number): void {
    this.#arriving += bytes;
    this.#lastRead = bytes;
  }

  /** Subtracts a control frame with a payload of `bytes`, which may come in the middle of a message. */
  onControlFrame(bytes: number): void {
    this.#arriving = Math.max(this.#arriving - bytes - frameHeadBytes, 0);
    this.tell();
  }

  /** Subtracts a complete message of `bytes`. What is left was in its last read, and begins the next message. */
  onMessage(bytes: number): void {
    this.#arriving = Math.min(Math.max(this.#arriving - bytes, 0), this.#lastRead);
    this.tell();
  }

  /** Implements `ConnectionSocket.hold`. */
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

  /** Tells the ledger the sum. Returns the error for the client if there is no room; the bytes count until they are freed. */
  tell(): ApiError | null {
    const bytes = connectionBytes + this.#arriving + this.#ofTurns;
    const overload = this.#account.hold(bytes, this.#arriving + this.#untaken);
    if (overload !== null) this.#account.hold(bytes);
    return overload;
  }
}
