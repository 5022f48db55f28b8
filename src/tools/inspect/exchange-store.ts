import type { Turn } from './chat-request-hashes.ts';
import type { BodyName, ExchangeFacts } from './recording.ts';

export interface StoreLimits {
  /** Bytes of memory, of all exchanges together. */
  readonly maxBytes: number;
  readonly maxExchanges: number;
}

/** What the inspector keeps. */
export const defaultStoreLimits: StoreLimits = { maxBytes: 64 * 1024 * 1024, maxExchanges: 200 };

export interface ExchangeStore {
  /** `startedAt` is in Unix milliseconds. */
  open(startedAt: number): StoredExchange;
  /** Oldest first. */
  list(): Iterable<StoredExchange>;
  get(id: number): StoredExchange | undefined;
  readonly heldBytes: number;
  readonly limits: StoreLimits;
}

/** Keeps the newest exchanges in memory, within limits; those that have ended are evicted before those that run. */
export function createExchangeStore(limits: StoreLimits = defaultStoreLimits): ExchangeStore {
  const exchanges = new Map<number, StoredExchange>();
  let lastId = 0;
  let heldBytes = 0;

  function evict(keep: StoredExchange): void {
    while (exchanges.size > limits.maxExchanges || heldBytes > limits.maxBytes) {
      const others = [...exchanges.values()].filter((exchange) => exchange !== keep);
      const oldest = others.find(({ isOver }) => isOver) ?? others[0];
      if (oldest === undefined) return;
      exchanges.delete(oldest.id);
      oldest.discard();
    }
  }

  return {
    limits,
    open(startedAt) {
      lastId += 1;
      const exchange = new StoredExchange(lastId, startedAt, Math.floor(limits.maxBytes * exchangeShare), (bytes) => {
        heldBytes += bytes;
        if (bytes > 0) evict(exchange);
      });
      exchanges.set(lastId, exchange);
      exchange.begin();
      return exchange;
    },
    list: () => exchanges.values(),
    get: (id) => exchanges.get(id),
    get heldBytes() {
      return heldBytes;
    },
  };
}

/** Names and values of headers by name, redacted, with the pseudo headers `:method`, `:path` and `:status`. */
export type Head = ReadonlyMap<string, string>;

/** Bytes of a body that came together, as Latin-1: half the memory of a buffer each, and a third of its time. */
export interface Piece {
  /** Milliseconds since the exchange began. */
  readonly atMs: number;
  readonly latin1: string;
}

/** How much of the memory one exchange may have: of a longer one, the beginning of its bodies is kept. */
const exchangeShare = 1 / 2;
/** Longer pieces are kept as several, so that little is made at a time for a page that reads slowly. */
const maxPieceBytes = 64 * 1024;
/** What they take besides their characters: an object, a number, a string, their place in a list. */
const bytesPerPiece = 96;
const bytesPerText = 32;
const bytesPerExchange = 4096;
/** A message of a turn: an object, its hash as text, and a place in a list. */
const bytesPerMessage = 96;

/** The facts of an exchange before anything is known. */
export const noFacts: ExchangeFacts = {
  requestId: null,
  profile: '',
  model: null,
  stream: null,
  dropped: [],
  repairs: [],
  outcome: null,
  status: null,
  upstreamStatus: null,
  errorCode: null,
  cause: null,
  finishReason: null,
  tokens: null,
  events: 0,
  durationMs: null,
  firstTokenMs: null,
};

/** What is kept of one exchange. */
export class StoredExchange {
  readonly id: number;
  /** Unix milliseconds. */
  readonly startedAt: number;
  readonly pieces: Readonly<Record<BodyName, readonly Piece[]>>;
  /** Bytes of each body that are not kept. */
  readonly omitted: Readonly<Record<BodyName, number>>;
  /** Counts what was recorded: a page compares it with what it has shown. */
  version = 0;
  /** Counts what was recorded besides pieces. */
  shape = 0;
  readonly #maxBytes: number;
  /** So many more bytes are held; fewer if negative. */
  readonly #onHeld: (bytes: number) => void;
  readonly #pieces: Record<BodyName, Piece[]> = {
    client_request: [],
    chat_request: [],
    chat_response: [],
    client_response: [],
  };
  readonly #omitted = { client_request: 0, chat_request: 0, chat_response: 0, client_response: 0 };
  #heads: Partial<Record<BodyName, Head>> = {};
  #facts = noFacts;
  #turn: Turn | null | undefined;
  #heldBytes = 0;
  #isDiscarded = false;

  constructor(id: number, startedAt: number, maxBytes: number, onHeld: (bytes: number) => void) {
    this.id = id;
    this.startedAt = startedAt;
    this.pieces = this.#pieces;
    this.omitted = this.#omitted;
    this.#maxBytes = maxBytes;
    this.#onHeld = onHeld;
  }

  /** Counts its own size; called once its store has it. */
  begin(): void {
    this.#hold(bytesPerExchange);
  }

  get facts(): ExchangeFacts {
    return this.#facts;
  }

  get isOver(): boolean {
    return this.#facts.outcome !== null;
  }

  /** True once it was evicted: what is recorded after that is discarded. */
  get isDiscarded(): boolean {
    return this.#isDiscarded;
  }

  headOf(body: BodyName): Head | undefined {
    return this.#heads[body];
  }

  /** All bytes of that body that are kept. */
  bytesOf(body: BodyName): Buffer {
    return Buffer.from(this.#pieces[body].map(({ latin1 }) => latin1).join(''), 'latin1');
  }

  /** The head of that body; without one, the body is none: the upstream was not called after all. */
  setHead(body: BodyName, head: Head | undefined): void {
    if (this.#isDiscarded) return;
    const before = bytesOfHead(this.#heads[body]);
    if (head === undefined) delete this.#heads[body];
    else this.#heads[body] = head;
    this.#hold(bytesOfHead(head) - before);
    this.#reshaped();
  }

  /** Copies bytes of that body, as many as there is room for. `atMs` is in milliseconds since the exchange began. */
  addPiece(body: BodyName, atMs: number, bytes: Uint8Array): void {
    if (this.#isDiscarded || bytes.length === 0) return;
    const all = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    let at = 0;
    while (at < all.length && this.#omitted[body] === 0) {
      const room = this.#maxBytes - this.#heldBytes - bytesPerPiece;
      const end = endOfPart(all, at, Math.min(maxPieceBytes, room));
      if (end <= at) break;
      this.#pieces[body].push({ atMs, latin1: all.toString('latin1', at, end) });
      this.#hold(bytesPerPiece + end - at);
      at = end;
    }
    this.#omitted[body] += all.length - at;
    this.version += 1;
  }

  /** Bytes of that body that are not kept, because it is too long. */
  omit(body: BodyName, bytes: number): void {
    this.#omitted[body] += bytes;
    this.version += 1;
  }

  setFacts(facts: ExchangeFacts): void {
    if (this.#isDiscarded) return;
    const before = bytesOfFacts(this.#facts);
    this.#facts = facts;
    this.#hold(bytesOfFacts(facts) - before);
    this.#reshaped();
  }

  /** Frees what it holds. */
  discard(): void {
    this.#isDiscarded = true;
    for (const pieces of Object.values(this.#pieces)) pieces.length = 0;
    this.#heads = {};
    this.#turn = undefined;
    this.#facts = { ...this.#facts, dropped: [], cause: null };
    this.#hold(-this.#heldBytes);
    this.#reshaped();
  }

  /** The analysis of its Chat request; null if it is not one, undefined if it was not asked for. */
  get turn(): Turn | null | undefined {
    return this.#turn;
  }

  /** Keeps that if there is room: it can be computed again. */
  keepTurn(turn: Turn | null): void {
    const bytes = turn === null ? 0 : turn.messages.length * bytesPerMessage;
    if (this.#isDiscarded || this.#heldBytes + bytes > this.#maxBytes) return;
    this.#turn = turn;
    this.#hold(bytes);
  }

  #reshaped(): void {
    this.version += 1;
    this.shape += 1;
  }

  #hold(bytes: number): void {
    this.#heldBytes += bytes;
    this.#onHeld(bytes);
  }
}

/** Where a part of at most that length ends, so that it cuts no character of UTF-8. */
function endOfPart(bytes: Buffer, start: number, length: number): number {
  let end = Math.min(bytes.length, start + length);
  if (end === bytes.length) return end;
  for (let back = 0; back < 3 && ((bytes[end] ?? 0) & 0xc0) === 0x80; back += 1) end -= 1;
  return end;
}

function bytesOfHead(head: Head = new Map()): number {
  let bytes = 0;
  for (const [name, value] of head) bytes += 2 * bytesPerText + name.length + value.length;
  return bytes;
}

/** Memory of the facts that vary in size. */
function bytesOfFacts({ dropped, cause }: ExchangeFacts): number {
  return dropped.reduce((sum, name) => sum + bytesPerText + name.length, cause?.length ?? 0);
}
