import type { ExchangeSummary } from '../../filter/index.ts';
import { type BodyName, buildPerBody, type RoundTripLink } from './recording.ts';

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
    list: (): readonly StoredExchange[] => [...exchanges.values()],
    get: (id: number) => exchanges.get(id),
    get heldBytes() {
      return heldBytes;
    },
  };
}

/** Names and values of headers by name, redacted, with the pseudo headers `:method`, `:path` and `:status`. */
export type Head = ReadonlyMap<string, string>;

/** Bytes that arrived together, as a Latin-1 string: it takes half the memory of a buffer, and a third of its time. */
export interface Piece {
  readonly atMs: number;
  readonly latin1: string;
}

/** Facts about a whole exchange, as JSON. They change while it runs. */
export class ExchangeFacts {
  readonly request_id: string | null = null;
  readonly profile: string = '';
  readonly model: string | null = null;
  readonly stream: boolean | null = null;
  /** The exchange's outcome; `running` until it has ended. */
  readonly outcome: string = 'running';
  readonly status: number | null = null;
  readonly error_code: string | null = null;
  readonly cause: string | null = null;
  readonly finish_reason: string | null = null;
  readonly tokens: ExchangeSummary['tokens'] = null;
  readonly dropped: readonly string[] = [];
  readonly repairs: readonly string[] = [];
  /** The milliseconds until the exchange ended; `first_token_ms` counts those until its first delta. */
  readonly duration_ms: number | null = null;
  readonly first_token_ms: number | null = null;
}

export const noFacts = new ExchangeFacts();

/** The share of the store's memory for one exchange. Of a larger one, only the beginning is kept. */
const exchangeShare = 1 / 2;
/** A longer explanation is not kept but made anew each time, because it would evict the exchange that it explains. */
const maxExplanationBytes = 4 * 1024 * 1024;
/** A longer piece is kept as several pieces, so that a page can load it in small parts. */
const maxPieceBytes = 64 * 1024;
/** Bytes that a piece takes besides its characters: an object, a number, a string, their place in a list. */
const bytesPerPiece = 96;
const bytesPerText = 32;
const bytesPerExchange = 4096;

export class StoredExchange {
  readonly id: number;
  readonly startedAt: number;
  readonly pieces: Readonly<Record<BodyName, Piece[]>> = buildPerBody(() => []);
  /** The bytes of each body that are not kept, because it is too long. */
  readonly omitted = buildPerBody(() => 0);
  /** A counter of changes, by which a page knows whether its copy is current. */
  version = 0;
  /** The exchange's place in a conversation: null if it is part of none, undefined until somebody asks. */
  link: RoundTripLink | null | undefined;
  /** The user's last text in the request, on one line; null without one, undefined until somebody asks. */
  said: string | null | undefined;
  /** The non-text end of the request, such as `3 tool results`; null if a text ends it, undefined if not looked up. */
  given: string | null | undefined;
  /** The model's first text in the answer, on one line; null without one, undefined until somebody asks. */
  answered: string | null | undefined;
  /** The tools that the model called in the answer, in their order, each once; undefined until somebody asks. */
  called: readonly string[] | undefined;
  /** The output of `explain --json` for its request, compressed; null until somebody asks, or where it is too long to be kept. */
  explanation: Buffer | null = null;
  /** True once the exchange was evicted from the store. What is recorded after that is discarded. */
  isDiscarded = false;
  /** The heads of the bodies. Only `setHead` sets them, because it counts the bytes that they hold. */
  heads: Partial<Readonly<Record<BodyName, Head>>> = {};
  facts: ExchangeFacts = noFacts;
  readonly #maxBytes: number;
  /** Tells the store how many bytes more this exchange holds; a negative number frees bytes. */
  readonly #onHeld: (bytes: number) => void;
  #heldBytes = 0;

  constructor(id: number, startedAt: number, maxBytes: number, onHeld: (bytes: number) => void) {
    this.id = id;
    this.startedAt = startedAt;
    this.#maxBytes = maxBytes;
    this.#onHeld = onHeld;
  }

  /** True once no more of the client's request will be recorded. */
  get isRequestRecorded(): boolean {
    return this.facts !== noFacts;
  }

  get room(): number {
    return this.isDiscarded ? 0 : Math.max(0, this.#maxBytes - this.#heldBytes);
  }

  joinBytes(body: BodyName): Buffer {
    return Buffer.from(this.pieces[body].map(({ latin1 }) => latin1).join(''), 'latin1');
  }

  /** Sets the head of a body. Without a head the body does not exist: the upstream was not called after all. */
  setHead(body: BodyName, head: Head | undefined): void {
    if (this.isDiscarded) return;
    const { [body]: before, ...others } = this.heads;
    this.heads = head === undefined ? others : { ...others, [body]: head };
    this.#changed(measureHead(head) - measureHead(before));
  }

  /** Keeps a piece of the body, as far as there is room. `atMs` counts milliseconds since the exchange began. */
  addPiece(body: BodyName, atMs: number, latin1: string): void {
    if (this.isDiscarded) return;
    let at = 0;
    while (at < latin1.length && this.omitted[body] === 0) {
      const end = findEndOfPart(latin1, at, Math.min(maxPieceBytes, this.room - bytesPerPiece));
      if (end <= at) break;
      // A slice is a view, which would keep the whole text in memory: a copy does not.
      const part =
        end - at === latin1.length ? latin1 : Buffer.from(latin1.slice(at, end), 'latin1').toString('latin1');
      this.pieces[body].push({ atMs, latin1: part });
      this.#changed(bytesPerPiece + end - at);
      at = end;
    }
    this.omit(body, latin1.length - at);
  }

  /** Counts bytes of a body that are not kept, because it is too long. */
  omit(body: BodyName, bytes: number): void {
    this.omitted[body] += bytes;
    this.version += 1;
  }

  setFacts(facts: ExchangeFacts): void {
    if (this.isDiscarded) return;
    const before = this.facts;
    this.facts = facts;
    this.#changed(measureFacts(facts) - measureFacts(before));
  }

  keepExplanation(gzip: Buffer): void {
    if (!this.isRequestRecorded || gzip.length > Math.min(maxExplanationBytes, this.room)) return;
    this.explanation = gzip;
    this.hold(gzip.length);
  }

  hold(bytes: number): void {
    if (this.isDiscarded) return;
    this.#heldBytes += bytes;
    this.#onHeld(bytes);
  }

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

/** The end of a part of at most `length` bytes. It does not split a UTF-8 character. */
export function findEndOfPart(latin1: string, start: number, length: number): number {
  let end = Math.min(latin1.length, start + length);
  if (end === latin1.length) return end;
  for (let back = 0; back < 3 && (latin1.charCodeAt(end) & 0xc0) === 0x80; back += 1) end -= 1;
  return end;
}

function measureHead(head: Head = new Map()): number {
  return measureTexts([...head].flat());
}

function measureFacts({ dropped, cause }: ExchangeFacts): number {
  return measureTexts(dropped) + (cause?.length ?? 0);
}

function measureTexts(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + bytesPerText + text.length, 0);
}
