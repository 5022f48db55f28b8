import { AnswerTail } from './answer-tail.ts';
import { type ChunkPool, createChunkPool } from './chunk-memory.ts';
import { PieceLog } from './piece-log.ts';
import {
  type BodyName,
  type ExchangeFacts,
  type Head,
  type HeadChange,
  maxExchangeBytes,
  type Recording,
  type RecordingSink,
} from './recording.ts';
import type { Turn } from './turn.ts';

export interface StoreLimits {
  readonly maxExchanges: number;
  /** Bytes of memory, of all exchanges together. Freed memory is reused, so the process holds no more than that. */
  readonly maxBytes: number;
  /** The same for one exchange: of a longer one, the beginning of the requests and both ends of the answer are kept. */
  readonly maxExchangeBytes: number;
}

/** What the inspector keeps. */
export const defaultStoreLimits: StoreLimits = {
  maxExchanges: 200,
  maxBytes: 64 * 1024 * 1024,
  maxExchangeBytes,
};

export interface ExchangeStore extends RecordingSink {
  /** The same for a worker's exchange. */
  open(startedAt: number, worker?: number | null): StoredExchange;
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
  const pool = createChunkPool();
  let heldBytes = 0;
  /** How many have ended. */
  let over = 0;

  function evict(keep: StoredExchange): void {
    while (exchanges.size > limits.maxExchanges || heldBytes > limits.maxBytes) {
      const oldest = oldestBut(keep);
      if (oldest === undefined) return;
      exchanges.delete(oldest.id);
      if (oldest.isOver) over -= 1;
      oldest.discard();
    }
  }

  function oldestBut(keep: StoredExchange): StoredExchange | undefined {
    let running: StoredExchange | undefined;
    for (const exchange of exchanges.values()) {
      if (exchange === keep) continue;
      if (exchange.isOver) return exchange;
      running ??= exchange;
      // Of hundreds that run at once, not all are looked at for each request.
      if (over === 0) break;
    }
    return running;
  }

  return {
    limits,
    open(startedAt, worker = null) {
      lastId += 1;
      const exchange = new StoredExchange(lastId, startedAt, worker, limits.maxExchangeBytes, pool, {
        onHeld(bytes) {
          heldBytes += bytes;
          if (bytes > 0) evict(exchange);
        },
        onEnd() {
          over += 1;
        },
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

/** What a store is told by its exchanges. */
interface StoreCallbacks {
  /** So many more bytes; fewer if negative. */
  onHeld(bytes: number): void;
  /** Once. */
  onEnd(): void;
}

/** Share of an exchange's memory that is left for the answer, however long the request is. */
const answerShare = 1 / 4;
/** Share of the same for the newest bytes of an answer that is too long to be kept whole. */
const tailShare = 1 / 8;
/** What an empty exchange takes, roughly. */
const emptyExchangeBytes = 2048;
/** The facts of an exchange before anything is known. */
export const noFacts: ExchangeFacts = {
  client: null,
  requestId: null,
  profile: '',
  model: null,
  stream: null,
  dropped: [],
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

/** What is kept of one exchange. A class, since every token goes through it. */
export class StoredExchange implements Recording {
  readonly id: number;
  readonly worker: number | null;
  /** Unix milliseconds. */
  readonly startedAt: number;
  readonly #maxBytes: number;
  readonly #store: StoreCallbacks;
  /** For reading; writing goes through `Recording`. */
  readonly log: PieceLog;
  readonly #tail: AnswerTail;
  /** Where the log has each head, as JSON: hundreds of objects that live for a while are slow to garbage-collect. */
  #heads: Partial<Record<BodyName, number>> = {};
  readonly #omitted: Record<BodyName, number> = {
    client_request: 0,
    chat_request: 0,
    chat_response: 0,
    client_response: 0,
  };
  #facts: ExchangeFacts = noFacts;
  #heldBytes = 0;
  #discarded = false;
  #turn: Turn | null | undefined;
  /** Counts what was recorded: a page compares it with what it has shown. */
  version = 0;
  /** The same for everything but pieces. */
  shape = 0;

  constructor(
    id: number,
    startedAt: number,
    worker: number | null,
    maxBytes: number,
    pool: ChunkPool,
    store: StoreCallbacks,
  ) {
    this.id = id;
    this.worker = worker;
    this.startedAt = startedAt;
    this.#maxBytes = maxBytes;
    this.#store = store;
    this.log = new PieceLog(pool);
    this.#tail = new AnswerTail(maxBytes * tailShare);
  }

  /** Counts its own size; called once its store has it. */
  begin(): void {
    this.#hold(emptyExchangeBytes);
  }

  get known(): ExchangeFacts {
    return this.#facts;
  }

  get isOver(): boolean {
    return this.#facts.outcome !== null;
  }

  /** True once it was evicted: what is recorded after that is discarded. */
  get isDiscarded(): boolean {
    return this.#discarded;
  }

  head(body: BodyName, head: Head): void {
    this.#keepHead(body, { base: null, set: head, remove: [] });
  }

  changedHead(body: BodyName, of: BodyName, { set, remove }: HeadChange): void {
    this.#keepHead(body, { base: this.#heads[of] ?? null, set, remove });
  }

  withdraw(body: BodyName): void {
    if (this.#discarded) return;
    delete this.#heads[body];
    this.#reshaped();
  }

  piece(body: BodyName, atMs: number, bytes: Uint8Array): void {
    if (this.#discarded || bytes.length === 0) return;
    if (body === 'chat_response' || body === 'client_response') {
      // The end of an answer says how it went: its newest bytes are kept separately.
      const isOver = this.#tail.has(body) || bytes.length > this.#room(tailShare);
      if (isOver) this.#hold(this.#tail.push(body, atMs, bytes));
      else this.#keep(body, atMs, bytes);
      return;
    }
    const room = this.#room(answerShare);
    const kept = bytes.length <= room ? bytes : bytes.subarray(0, Math.max(room, 0));
    if (kept.length < bytes.length) this.omit(body, bytes.length - kept.length);
    if (kept.length > 0) this.#keep(body, atMs, kept);
  }

  /** Bytes that may still be kept if this share of the whole is left for other data. */
  #room(share: number): number {
    return Math.floor(this.#maxBytes * (1 - share)) - (this.#heldBytes - this.#tail.heldBytes);
  }

  #keep(body: BodyName, atMs: number, bytes: Uint8Array): void {
    const log = this.log;
    const before = log.heldBytes;
    log.push(body, atMs, bytes);
    this.version += 1;
    const more = log.heldBytes - before;
    if (more > 0) this.#hold(more);
  }

  /** Adds the answer's end, which is kept apart while it runs, to what was kept of its beginning. */
  #endAnswer(): void {
    const held = this.#tail.heldBytes;
    const { pieces, omitted } = this.#tail.take();
    this.#hold(-held);
    for (const body of ['chat_response', 'client_response'] as const) this.#omitted[body] += omitted[body];
    for (const { body, atMs, bytes } of pieces) if (bytes.length > 0) this.#keep(body, atMs, bytes);
  }

  omit(body: BodyName, bytes: number): void {
    this.#omitted[body] += bytes;
    this.version += 1; // does not resend the rest each time that something is left out
  }

  facts(facts: ExchangeFacts): void {
    if (this.#discarded) return;
    const before = bytesOfFacts(this.#facts);
    const ends = facts.outcome !== null && !this.isOver;
    if (facts.outcome !== null) this.#endAnswer();
    this.#facts = facts;
    if (ends) this.#store.onEnd();
    this.#hold(bytesOfFacts(facts) - before);
    this.#reshaped();
  }

  /** It will not continue: its process is gone. */
  abort(cause: string): void {
    this.facts({ ...this.#facts, outcome: 'aborted', cause });
  }

  /** Frees what it holds. */
  discard(): void {
    this.#discarded = true;
    this.#tail.take();
    this.#heads = {};
    this.#turn = undefined;
    this.log.clear();
    this.#facts = { ...this.#facts, dropped: [], cause: null };
    this.#store.onHeld(-this.#heldBytes);
    this.#heldBytes = 0;
    this.#reshaped();
  }

  /** The analysis of its Chat request; null if it is not one, undefined if it was not asked for. */
  get turn(): Turn | null | undefined {
    return this.#turn;
  }

  /** Keeps that if there is room: it can be computed again. */
  keepTurn(turn: Turn | null): void {
    const bytes = turn === null ? 0 : turn.messages.length * messageBytes;
    if (this.#discarded || this.#heldBytes + bytes > this.#maxBytes) return;
    this.#turn = turn;
    this.#hold(bytes);
  }

  /** Bytes that are not among the pieces: permanently, or while the answer runs. */
  notKept(): Record<BodyName, number> {
    const { chat_response, client_response } = this.#tail.waiting();
    const omitted = this.#omitted;
    return {
      ...omitted,
      chat_response: omitted.chat_response + chat_response,
      client_response: omitted.client_response + client_response,
    };
  }

  #keepHead(body: BodyName, kept: KeptHead): void {
    if (this.#discarded) return;
    const before = this.log.heldBytes;
    this.#heads[body] = this.log.addText(JSON.stringify(kept));
    this.#hold(this.log.heldBytes - before);
    this.#reshaped();
  }

  /** Names and values of that head, with the pseudo headers; undefined if there is none. */
  headOf(body: BodyName): ReadonlyMap<string, string> | undefined {
    const place = this.#heads[body];
    return place === undefined ? undefined : this.#headAt(place);
  }

  #headAt(place: number): Map<string, string> {
    const { base, set, remove } = JSON.parse(this.log.textAt(place)) as KeptHead; // written above
    const head = base === null ? new Map<string, string>() : this.#headAt(base);
    for (const name of remove) head.delete(name);
    for (let index = 0; index + 1 < set.length; index += 2) head.set(set[index] ?? '', set[index + 1] ?? '');
    return head;
  }

  #reshaped(): void {
    this.version += 1;
    this.shape += 1;
  }

  #hold(bytes: number): void {
    this.#heldBytes += bytes;
    this.#store.onHeld(bytes);
  }
}

/** A head as the log has it: the changes to another head there, or to an empty one. */
interface KeptHead extends HeadChange {
  readonly base: number | null;
}

/** A message of a turn, roughly: an object, its hash as text, and a place in a list. */
const messageBytes = 96;

/** A name takes a reference and a string header besides its characters, roughly. */
const bytesPerName = 32;

/** Memory of the facts that vary in size. */
function bytesOfFacts({ dropped, cause }: ExchangeFacts): number {
  return dropped.reduce((sum, name) => sum + bytesPerName + name.length, cause?.length ?? 0);
}
