import { bodyOf, type ExchangeFile, type ExchangeFileRequest, exchangeFileHead } from '../schema/exchange-file.ts';
import { AnswerTail } from './answer-tail.ts';
import { type ChunkPool, createChunkPool } from './chunk-memory.ts';
import { contentJson, jsonFields, jsonObject, piecesJson } from './exchange-json.ts';
import { PieceLog, roundMs } from './piece-log.ts';
import {
  type BodyName,
  type ExchangeFacts,
  type Head,
  type HeadChange,
  MAX_CLIENT_LENGTH,
  MAX_EXCHANGE_BYTES,
  type Recording,
  type RecordingSink,
} from './recording.ts';

export interface StoreLimits {
  readonly maxExchanges: number;
  /** Bytes of memory, of all exchanges together. What they free is used again, so the process holds no more than that. */
  readonly maxBytes: number;
  /** The same of one exchange: of a longer one the requests' beginnings are kept, and both ends of the answer. */
  readonly maxExchangeBytes: number;
}

/** What the inspector keeps. */
export const defaultStoreLimits: StoreLimits = {
  maxExchanges: 200,
  maxBytes: 64 * 1024 * 1024,
  maxExchangeBytes: MAX_EXCHANGE_BYTES,
};

/** One line of the list, as JSON. */
export interface ExchangeRow {
  readonly id: number;
  /** Unix milliseconds. */
  readonly started_at: number;
  readonly worker: number | null;
  readonly client: string | null;
  readonly request_id: string | null;
  readonly method: string | null;
  readonly path: string | null;
  readonly profile: string;
  readonly model: string | null;
  readonly stream: boolean | null;
  /** `running` until it has ended. */
  readonly outcome: string;
  readonly status: number | null;
  readonly error_code: string | null;
  readonly input_tokens: number | null;
  readonly cached_tokens: number | null;
  readonly output_tokens: number | null;
  readonly reasoning_tokens: number | null;
  readonly finish_reason: string | null;
  readonly dropped: number;
  /** Pieces received from the upstream, and sent to the client. */
  readonly pieces: readonly [number, number];
  readonly first_event_ms: number | null;
  readonly duration_ms: number | null;
  readonly tokens_per_second: number | null;
  /** Bytes that were not kept. */
  readonly omitted_bytes: number;
}

/** One exchange whole, as JSON. */
export interface ExchangeDetail {
  readonly row: ExchangeRow;
  readonly file: ExchangeFile;
  /** Bytes of each body that were not kept, because the exchange is longer than what is kept of one. */
  readonly omitted: Readonly<Record<BodyName, number>>;
}

export interface ExchangeStore extends RecordingSink {
  /** The same, for an exchange of a worker. */
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

  function evict(keep: StoredExchange): void {
    while (exchanges.size > limits.maxExchanges || heldBytes > limits.maxBytes) {
      const oldest = oldestBut(keep);
      if (oldest === undefined) return;
      exchanges.delete(oldest.id);
      oldest.discard();
    }
  }

  function oldestBut(keep: StoredExchange): StoredExchange | undefined {
    let running: StoredExchange | undefined;
    for (const exchange of exchanges.values()) {
      if (exchange === keep) continue;
      if (exchange.isOver) return exchange;
      running ??= exchange;
    }
    return running;
  }

  return {
    limits,
    open(startedAt, worker = null) {
      lastId += 1;
      const exchange = new StoredExchange(lastId, startedAt, worker, limits.maxExchangeBytes, pool, (bytes) => {
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

/** Of what is kept of an exchange, for the answer, however long the request is. */
const answerShare = 1 / 4;
/** Of the same, for the newest bytes of an answer that is longer than what is kept of it. */
const tailShare = 1 / 8;
/** What an exchange takes without anything in it, about. */
const EMPTY_EXCHANGE_BYTES = 2048;
/** Of an exchange of which nothing is known. */
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

/** What is kept of one exchange. A class, since it is touched by each token. */
export class StoredExchange implements Recording {
  readonly id: number;
  readonly worker: number | null;
  readonly #startedAt: number;
  readonly #maxBytes: number;
  readonly #account: (bytes: number) => void;
  readonly #log: PieceLog;
  readonly #tail: AnswerTail;
  /** Where the log has each head, as JSON: hundreds of objects that live for a while are what a garbage collector is slowest with. */
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
  /** Counts what was recorded: whoever shows the exchange compares it with what was shown. */
  version = 0;
  /** The same, of all but pieces. */
  shape = 0;

  constructor(
    id: number,
    startedAt: number,
    worker: number | null,
    maxBytes: number,
    pool: ChunkPool,
    account: (bytes: number) => void,
  ) {
    this.id = id;
    this.worker = worker;
    this.#startedAt = startedAt;
    this.#maxBytes = maxBytes;
    this.#account = account;
    this.#log = new PieceLog(pool);
    this.#tail = new AnswerTail(maxBytes * tailShare);
  }

  /** Counts itself; its store knows it now. */
  begin(): void {
    this.#hold(EMPTY_EXCHANGE_BYTES);
  }

  get isOver(): boolean {
    return this.#facts.outcome !== null;
  }

  /** True once it was evicted: what is recorded after that goes nowhere. */
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
      // What an answer ends with says what became of it: its newest bytes have a place of their own.
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

  /** Bytes that may still be kept when this share of the whole is left for others. */
  #room(share: number): number {
    return Math.floor(this.#maxBytes * (1 - share)) - (this.#heldBytes - this.#tail.heldBytes);
  }

  #keep(body: BodyName, atMs: number, bytes: Uint8Array): void {
    const log = this.#log;
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
    this.version += 1; // the rest is not sent again for it, as often as something is left out
  }

  facts(facts: ExchangeFacts): void {
    if (this.#discarded) return;
    const before = bytesOfFacts(this.#facts);
    if (facts.outcome !== null) this.#endAnswer();
    this.#facts = facts;
    this.#hold(bytesOfFacts(facts) - before);
    this.#reshaped();
  }

  /** It will not go on: the process that it ran in is gone. */
  abort(cause: string): void {
    this.facts({ ...this.#facts, outcome: 'aborted', cause });
  }

  /** Frees what it holds. */
  discard(): void {
    this.#discarded = true;
    this.#tail.take();
    this.#heads = {};
    this.#log.clear();
    this.#facts = { ...this.#facts, dropped: [], cause: null };
    this.#account(-this.#heldBytes);
    this.#heldBytes = 0;
    this.#reshaped();
  }

  /** How many pieces there are of that body. */
  count(body: BodyName): number {
    return this.#log.count(body);
  }

  /** The pieces of that body from the given one on. */
  piecesFrom(body: BodyName, first: number): ReturnType<PieceLog['piecesFrom']> {
    return this.#log.piecesFrom(body, first);
  }

  row(): ExchangeRow {
    const facts = this.#facts;
    const request = this.#head('client_request');
    const first = this.#log.firstMs('client_response');
    return {
      id: this.id,
      started_at: this.#startedAt,
      worker: this.worker,
      client: facts.client ?? clientOf(request),
      request_id: facts.requestId,
      method: request?.get(':method') ?? null,
      path: request?.get(':path') ?? null,
      profile: facts.profile,
      model: facts.model,
      stream: facts.stream,
      outcome: facts.outcome ?? 'running',
      status: facts.status ?? statusOf(this.#head('client_response')),
      error_code: facts.errorCode,
      input_tokens: facts.tokens?.input_tokens ?? null,
      cached_tokens: facts.tokens?.cached_tokens ?? null,
      output_tokens: facts.tokens?.output_tokens ?? null,
      reasoning_tokens: facts.tokens?.reasoning_tokens ?? null,
      finish_reason: facts.finishReason,
      dropped: facts.dropped.length,
      pieces: [this.count('chat_response'), this.count('client_response')],
      first_event_ms: first === null ? null : roundMs(first),
      duration_ms: facts.durationMs === null ? null : roundMs(facts.durationMs),
      tokens_per_second: this.#tokensPerSecond(),
      omitted_bytes: Object.values(this.#notKept()).reduce((sum, bytes) => sum + bytes, 0),
    };
  }

  detail(): ExchangeDetail {
    return { row: this.row(), file: this.#file(), omitted: this.#notKept() };
  }

  /**
   * The same as JSON, made as it is asked for: whoever reads slowly holds none of it. With `more` fields. Ends in the middle
   * and returns false if the exchange is evicted by then.
   */
  *detailJson(more: object = {}): Generator<string, boolean> {
    const { client_request, chat_request, chat_response, client_response, ...file } = this.#file(false);
    const texts = jsonObject({
      row: [JSON.stringify(this.row())],
      omitted: [JSON.stringify(this.#notKept())],
      ...jsonFields(more),
      file: jsonObject({
        ...jsonFields(file),
        client_request: this.#requestJson('client_request', client_request),
        chat_request: this.#requestJson('chat_request', chat_request),
        chat_response: this.#responseJson('chat_response', chat_response),
        client_response: this.#responseJson('client_response', client_response),
      }),
    });
    return yield* this.#whileKept(texts);
  }

  /** The pieces of both answers from these on, as JSON, made as it is asked for, as `detailJson` is. */
  *piecesJson(upstream: number, client: number, more: object): Generator<string, boolean> {
    const texts = jsonObject({
      row: [JSON.stringify(this.row())],
      chat_response: piecesJson(this.#log, 'chat_response', upstream, this.count('chat_response')),
      client_response: piecesJson(this.#log, 'client_response', client, this.count('client_response')),
      ...jsonFields(more),
    });
    return yield* this.#whileKept(texts);
  }

  *#whileKept(texts: Generator<string>): Generator<string, boolean> {
    while (!this.#discarded) {
      const next = texts.next();
      if (next.done === true) return true;
      yield next.value;
    }
    return false;
  }

  #requestJson(body: BodyName, request: ExchangeFileRequest | null): Iterable<string> {
    if (request === null || !(body in this.#heads)) return [JSON.stringify(request)];
    const { method, path, headers } = request;
    const places = [...this.#log.places(body, 0)];
    return jsonObject({ ...jsonFields({ method, path, headers }), ...contentJson(this.#log, places, 'body') });
  }

  #responseJson(body: BodyName, response: ExchangeFile['chat_response']): Iterable<string> {
    if (response === null) return ['null'];
    const { pieces: _pieces, ...head } = response;
    return jsonObject({ ...jsonFields(head), pieces: piecesJson(this.#log, body, 0, this.count(body)) });
  }

  /** Bytes that are not among the pieces: for good, or while the answer runs. */
  #notKept(): Record<BodyName, number> {
    const { chat_response, client_response } = this.#tail.waiting();
    const omitted = this.#omitted;
    return {
      ...omitted,
      chat_response: omitted.chat_response + chat_response,
      client_response: omitted.client_response + client_response,
    };
  }

  #file(withBodies = true): ExchangeFile {
    const { profile, dropped, outcome, errorCode, cause } = this.#facts;
    return {
      ...exchangeFileHead,
      profile,
      started_at: new Date(this.#startedAt).toISOString(),
      client_request: this.#request('client_request', withBodies) ?? noRequest,
      chat_request: this.#request('chat_request', withBodies),
      chat_response: this.#response('chat_response', withBodies),
      client_response: this.#response('client_response', withBodies),
      dropped: [...dropped],
      outcome: outcome ?? 'running',
      error: errorCode === null && cause === null ? null : { code: errorCode, cause },
    };
  }

  #request(body: BodyName, withBody: boolean): ExchangeFileRequest | null {
    const head = this.#head(body);
    if (head === undefined) return null;
    return {
      method: head.get(':method') ?? '',
      path: head.get(':path') ?? '',
      headers: headersOf(head),
      ...(withBody ? bodyOf(this.#log.whole(body)) : { body: '' }),
    };
  }

  #response(body: BodyName, withPieces: boolean): ExchangeFile['chat_response'] {
    const head = this.#head(body);
    if (head === undefined) return null;
    return {
      status: statusOf(head) ?? 200,
      headers: headersOf(head),
      pieces: withPieces ? this.piecesFrom(body, 0) : [],
    };
  }

  #keepHead(body: BodyName, kept: KeptHead): void {
    if (this.#discarded) return;
    const before = this.#log.heldBytes;
    this.#heads[body] = this.#log.addText(JSON.stringify(kept));
    this.#hold(this.#log.heldBytes - before);
    this.#reshaped();
  }

  #head(body: BodyName): Map<string, string> | undefined {
    const place = this.#heads[body];
    return place === undefined ? undefined : this.#headAt(place);
  }

  #headAt(place: number): Map<string, string> {
    const { base, set, remove } = JSON.parse(this.#log.textAt(place)) as KeptHead; // written above
    const head = base === null ? new Map<string, string>() : this.#headAt(base);
    for (const name of remove) head.delete(name);
    for (let index = 0; index + 1 < set.length; index += 2) head.set(set[index] ?? '', set[index + 1] ?? '');
    return head;
  }

  /** Of a stream: from its first delta to the upstream's last piece. */
  #tokensPerSecond(): number | null {
    const { tokens, firstTokenMs, stream } = this.#facts;
    const count = tokens?.output_tokens ?? 0;
    const last = this.#log.lastMs('chat_response');
    if (stream !== true || count < 2 || firstTokenMs === null || last === null) return null;
    return last <= firstTokenMs ? null : Math.round(((count - 1) / (last - firstTokenMs)) * 10_000) / 10;
  }

  #reshaped(): void {
    this.version += 1;
    this.shape += 1;
  }

  #hold(bytes: number): void {
    this.#heldBytes += bytes;
    this.#account(bytes);
  }
}

/** A head as the log has it: the changes to another one there, or to none. */
interface KeptHead extends HeadChange {
  readonly base: number | null;
}

function statusOf(head: ReadonlyMap<string, string> | undefined): number | null {
  const status = head?.get(':status');
  return status === undefined ? null : Number(status);
}

/** Known before the facts are: they come with the end of the request. */
function clientOf(head: ReadonlyMap<string, string> | undefined): string | null {
  return head?.get('user-agent')?.slice(0, MAX_CLIENT_LENGTH) ?? null;
}

/** All but the pseudo headers. */
function headersOf(head: ReadonlyMap<string, string>): { name: string; value: string }[] {
  return [...head].filter(([name]) => !name.startsWith(':')).map(([name, value]) => ({ name, value }));
}

/** A name is a reference and a string with its own head besides its characters, about. */
const NAME_BYTES = 32;

/** What facts take that have no fixed size. */
function bytesOfFacts({ dropped, cause }: ExchangeFacts): number {
  return dropped.reduce((sum, name) => sum + NAME_BYTES + name.length, cause?.length ?? 0);
}

const noRequest: ExchangeFileRequest = { method: '', path: '', headers: [], body: '' };
