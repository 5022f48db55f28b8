import type { ExchangeSummary } from '../../filter/index.ts';
import { type BodyName, perBody, type TurnLink } from './recording.ts';

/** Limits of what the inspector keeps: bytes of memory, of all exchanges together, and exchanges. */
export const defaultStoreLimits = { maxBytes: 64 * 1024 * 1024, maxExchanges: 200 };

export type StoreLimits = typeof defaultStoreLimits;

export type ExchangeStore = ReturnType<typeof createExchangeStore>;

/** Keeps the newest exchanges in memory, within limits; those that have ended are evicted before those that run. */
export function createExchangeStore(limits: StoreLimits = defaultStoreLimits) {
  const exchanges = new Map<number, StoredExchange>();
  let lastId = 0;
  let heldBytes = 0;

  function evict(keep: StoredExchange): void {
    while (exchanges.size > limits.maxExchanges || heldBytes > limits.maxBytes) {
      const others = [...exchanges.values()].filter((exchange) => exchange !== keep);
      const oldest = others.find(({ facts }) => facts.outcome !== 'running') ?? others[0];
      if (oldest === undefined) return;
      exchanges.delete(oldest.id);
      oldest.discard();
    }
  }

  return {
    limits,
    /** `startedAt` is in Unix milliseconds. */
    open(startedAt: number): StoredExchange {
      lastId += 1;
      const exchange: StoredExchange = new StoredExchange(
        lastId,
        startedAt,
        Math.floor(limits.maxBytes * exchangeShare),
        (bytes) => {
          heldBytes += bytes;
          if (bytes > 0) evict(exchange);
        },
      );
      exchanges.set(lastId, exchange);
      exchange.hold(bytesPerExchange);
      return exchange;
    },
    /** Oldest first. */
    list: (): readonly StoredExchange[] => [...exchanges.values()],
    get: (id: number) => exchanges.get(id),
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

/** Facts of an exchange as a whole, as JSON; grows while it runs. */
export class ExchangeFacts {
  readonly request_id: string | null = null;
  readonly profile: string = '';
  readonly model: string | null = null;
  readonly stream: boolean | null = null;
  /** `running` until it has ended. */
  readonly outcome: string = 'running';
  readonly status: number | null = null;
  readonly error_code: string | null = null;
  /** The error that was thrown, with its stack and causes. */
  readonly cause: string | null = null;
  readonly finish_reason: string | null = null;
  readonly tokens: ExchangeSummary['tokens'] = null;
  readonly dropped: readonly string[] = [];
  /** Names of repairs in the answer. */
  readonly repairs: readonly string[] = [];
  /** Milliseconds until it ended, and until its first delta. */
  readonly duration_ms: number | null = null;
  readonly first_token_ms: number | null = null;
}

/** The facts of an exchange before anything is known. */
export const noFacts = new ExchangeFacts();

/** How much of the memory one exchange may have: of a longer one, the beginning of its bodies is kept. */
const exchangeShare = 1 / 2;
/** A longer explanation is made anew each time: it must not evict what it explains. */
const maxExplanationBytes = 4 * 1024 * 1024;
/** Longer pieces are kept as several, so that a page is sent little at a time. */
const maxPieceBytes = 64 * 1024;
/** Bytes that a piece takes besides its characters: an object, a number, a string, their place in a list. */
const bytesPerPiece = 96;
const bytesPerText = 32;
const bytesPerExchange = 4096;

/** The record of one exchange. */
export class StoredExchange {
  readonly id: number;
  /** Unix milliseconds. */
  readonly startedAt: number;
  readonly pieces: Readonly<Record<BodyName, Piece[]>> = perBody(() => []);
  /** Bytes of each body that are not kept, because it is too long. */
  readonly omitted = perBody(() => 0);
  /** Counts what was recorded: a page compares it with what it has shown. */
  version = 0;
  /** Which turn of a conversation it is; null if it is none, undefined until somebody asks. */
  turn: TurnLink | null | undefined;
  /** The user's last text in the request, on one line; null without one, undefined until somebody asks. */
  said: string | null | undefined;
  /** The end of the request where that is no text of the user, `3 tool results`; null otherwise, undefined until somebody asks. */
  given: string | null | undefined;
  /** The model's first text in the answer, on one line; null without one, undefined until somebody asks. */
  answered: string | null | undefined;
  /** The tools that the model called in the answer, in their order, each once; undefined until somebody asks. */
  called: readonly string[] | undefined;
  /** The output of `explain --json` for its request, compressed; null until somebody asks, or where it is too long to be kept. */
  explanation: Buffer | null = null;
  /** True once it was evicted: what is recorded after that is discarded. */
  isDiscarded = false;
  /** Set by `setHead` and `setFacts`, which count what they hold. */
  heads: Partial<Readonly<Record<BodyName, Head>>> = {};
  facts: ExchangeFacts = noFacts;
  readonly #maxBytes: number;
  /** So many more bytes are held; fewer if negative. */
  readonly #onHeld: (bytes: number) => void;
  #heldBytes = 0;

  constructor(id: number, startedAt: number, maxBytes: number, onHeld: (bytes: number) => void) {
    this.id = id;
    this.startedAt = startedAt;
    this.#maxBytes = maxBytes;
    this.#onHeld = onHeld;
  }

  /** True once nothing more of the client's request will be recorded. */
  get isRequestRecorded(): boolean {
    return this.facts !== noFacts;
  }

  /** How many bytes more it may hold. */
  get room(): number {
    return this.isDiscarded ? 0 : Math.max(0, this.#maxBytes - this.#heldBytes);
  }

  /** All bytes of that body that are kept. */
  bytesOf(body: BodyName): Buffer {
    return Buffer.from(this.pieces[body].map(({ latin1 }) => latin1).join(''), 'latin1');
  }

  /** The head of that body; without one, the body is none: the upstream was not called after all. */
  setHead(body: BodyName, head: Head | undefined): void {
    if (this.isDiscarded) return;
    const { [body]: before, ...others } = this.heads;
    this.heads = head === undefined ? others : { ...others, [body]: head };
    this.#changed(bytesOfHead(head) - bytesOfHead(before));
  }

  /** Keeps bytes of that body, as many as there is room for. `atMs` is in milliseconds since the exchange began. */
  addPiece(body: BodyName, atMs: number, latin1: string): void {
    if (this.isDiscarded) return;
    let at = 0;
    while (at < latin1.length && this.omitted[body] === 0) {
      const end = endOfPart(latin1, at, Math.min(maxPieceBytes, this.room - bytesPerPiece));
      if (end <= at) break;
      // A part that is a view of the whole would keep all of it in memory.
      const part =
        end - at === latin1.length ? latin1 : Buffer.from(latin1.slice(at, end), 'latin1').toString('latin1');
      this.pieces[body].push({ atMs, latin1: part });
      this.#changed(bytesPerPiece + end - at);
      at = end;
    }
    this.omit(body, latin1.length - at);
  }

  /** Bytes of that body that are not kept, because it is too long. */
  omit(body: BodyName, bytes: number): void {
    this.omitted[body] += bytes;
    this.version += 1;
  }

  setFacts(facts: ExchangeFacts): void {
    if (this.isDiscarded) return;
    const before = this.facts;
    this.facts = facts;
    this.#changed(bytesOfFacts(facts) - bytesOfFacts(before));
  }

  /** Keeps the explanation of its request, if that request is complete and there is room. */
  keepExplanation(gzip: Buffer): void {
    if (!this.isRequestRecorded || gzip.length > Math.min(maxExplanationBytes, this.room)) return;
    this.explanation = gzip;
    this.hold(gzip.length);
  }

  /** Counts bytes that are held for it; negative when they no longer are. */
  hold(bytes: number): void {
    if (this.isDiscarded) return;
    this.#heldBytes += bytes;
    this.#onHeld(bytes);
  }

  /** Frees what it holds. */
  discard(): void {
    for (const pieces of Object.values(this.pieces)) pieces.length = 0;
    this.heads = {};
    this.explanation = null;
    this.facts = { ...this.facts, dropped: [], cause: null };
    this.hold(-this.#heldBytes);
    this.isDiscarded = true;
  }

  #changed(bytes: number): void {
    this.version += 1;
    this.hold(bytes);
  }
}

/** Where a part of at most that length ends, so that it cuts no character of UTF-8. */
export function endOfPart(latin1: string, start: number, length: number): number {
  let end = Math.min(latin1.length, start + length);
  if (end === latin1.length) return end;
  for (let back = 0; back < 3 && (latin1.charCodeAt(end) & 0xc0) === 0x80; back += 1) end -= 1;
  return end;
}

function bytesOfHead(head: Head = new Map()): number {
  return bytesOfTexts([...head].flat());
}

/** Memory of the facts that vary in size. */
function bytesOfFacts({ dropped, cause }: ExchangeFacts): number {
  return bytesOfTexts(dropped) + (cause?.length ?? 0);
}

function bytesOfTexts(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + bytesPerText + text.length, 0);
}
