import { inspect } from 'node:util';
import { ContentCodingError, decodeContent, parseContentCodings } from '../../filter/exchange/content-coding.ts';
import { Exchange } from '../../filter/exchange/exchange.ts';
import type { ExchangeOptions } from '../../filter/exchange/options.ts';
import type { ExchangeSummary } from '../../filter/exchange/summary.ts';
import type { ExchangeTap } from '../../filter/exchange/tap.ts';
import type { ExchangeEvent, ExchangeReply, HeaderMap, HeaderMutation } from '../../filter/exchange/types.ts';
import type { EndedCall, ExchangeObserver } from '../../service/telemetry/observer.ts';
import type { BodyKind, BodyRedactor } from '../redact/body-redactor.ts';
import { Redactor } from '../redact/redactor.ts';
import type { ExchangeStore, Head, StoredExchange } from './exchange-store.ts';
import { type BodyName, type ExchangeFacts, maxRequestBytes, probeAgent } from './recording.ts';
import { burstOf } from './split-burst.ts';

/** What a service needs to record its exchanges. */
export interface Recorder {
  createExchange(options: ExchangeOptions): Exchange;
  readonly observer: ExchangeObserver;
}

/** Records each exchange in the store, from its first message to its end. */
export function createRecorder(store: ExchangeStore): Recorder {
  const records = new WeakMap<Exchange, ExchangeRecord>();
  return {
    createExchange(options) {
      const record = new ExchangeRecord(store, () => exchange.summary());
      const exchange: Exchange = new Exchange({ ...options, tap: record });
      records.set(exchange, record);
      return exchange;
    },
    observer: (call) => records.get(call.exchange)?.end(call),
  };
}

const maxCauseLength = 16 * 1024;

type AnswerName = Extract<BodyName, `${string}_response`>;

/** Records what one exchange takes and gives, without its credentials. */
class ExchangeRecord implements ExchangeTap {
  readonly #store: ExchangeStore;
  readonly #summary: () => ExchangeSummary;
  readonly #startedUnixMs = Date.now();
  readonly #startedAt = performance.now();
  readonly #redactor = new Redactor();
  /** Null before the headers came, and for a probe. */
  #kept: StoredExchange | null = null;
  #requestHeaders: HeaderMap = new Map();
  /** Null once both are complete. */
  #requests: { readonly client: RequestBody; readonly chat: RequestBody } | null = null;
  readonly #answers: Partial<Record<AnswerName, BodyRedactor>> = {};
  /** A piece of the upstream's answer that is being handled, and how many events each chunk in it became. */
  #arrived: { readonly at: number; readonly bytes: Uint8Array } | null = null;
  #eventsOfChunks: number[] = [];
  #upstreamAnswered = false;
  #clientAnswered = false;

  constructor(store: ExchangeStore, summary: () => ExchangeSummary) {
    this.#store = store;
    this.#summary = summary;
  }

  onEvent(event: ExchangeEvent): void {
    switch (event.type) {
      case 'response_body':
        this.#flushArrived();
        this.#arrived = { at: this.#now(), bytes: event.body };
        return;
      case 'request_headers':
        this.#requestHeaders = event.headers;
        if (this.#isProbe()) return;
        this.#kept = this.#store.open(this.#startedUnixMs);
        this.#kept.setHead('client_request', this.#headOf(event.headers));
        this.#requests = { client: new RequestBody(), chat: new RequestBody() };
        return;
      case 'request_body':
        this.#requests?.client.push(event.body);
        return;
      case 'response_headers':
        this.#upstreamAnswered = true;
        this.#endRequest();
        this.#beginAnswers(Number(event.headers.get(':status')) >= 400 ? 'error' : 'answer');
        this.#kept?.setHead('chat_response', this.#headOf(event.headers));
        return;
      case 'request_trailers':
      case 'response_trailers':
        return;
    }
  }

  onMessage(events: number): void {
    this.#eventsOfChunks.push(events);
  }

  onReplies(replies: readonly ExchangeReply[], event: ExchangeEvent | null): void {
    const arrived = this.#arrived;
    const burst =
      arrived !== null && this.#eventsOfChunks.length > 1
        ? burstOf(arrived.bytes, replies, this.#eventsOfChunks)
        : null;
    if (burst === null) this.#flushArrived();
    // One time for a piece and its reply: translating takes microseconds, and so would reading the clock twice for each token.
    const at = arrived?.at ?? this.#now();
    for (const reply of replies) this.#onReply(reply, event, at, burst !== null);
    for (const [index, { chunk, events }] of (burst ?? []).entries()) {
      // Chunks of one piece are translated one after the other, some microseconds each.
      const then = at + index / 1000;
      this.#answer('chat_response', then, chunk);
      this.#answer('client_response', then, events);
    }
    this.#arrived = null;
    this.#eventsOfChunks = [];
  }

  /** The call has ended. */
  end({ how, summary, times, cause }: EndedCall): void {
    this.#flushArrived();
    // It may end before any headers came.
    if (!this.#isProbe()) this.#kept ??= this.#store.open(this.#startedUnixMs);
    this.#endRequest();
    for (const [body, redactor] of Object.entries(this.#answers))
      this.#kept?.addPiece(body as AnswerName, this.#now(), redactor.end());
    const thrown = cause ?? summary.errorCause;
    this.#kept?.setFacts({
      ...this.#factsOf(summary),
      // For an exchange that was still open, how the call ended is more informative than the outcome.
      outcome: how === 'done' ? summary.outcome : how,
      cause: thrown === undefined || thrown === null ? null : this.#redactor.text(causeOf(thrown)),
      durationMs: times.duration,
      firstTokenMs: times.firstToken,
    });
  }

  #isProbe(): boolean {
    return this.#requestHeaders.get('user-agent') === probeAgent;
  }

  #now(): number {
    return performance.now() - this.#startedAt;
  }

  #flushArrived(): void {
    if (this.#arrived !== null) this.#answer('chat_response', this.#arrived.at, this.#arrived.bytes);
    this.#arrived = null;
  }

  #onReply(reply: ExchangeReply, event: ExchangeEvent | null, at: number, withoutBody: boolean): void {
    switch (reply.type) {
      case 'response_body':
        if (!this.#clientAnswered || reply.headers !== undefined) this.#answerClient(reply.headers);
        if (!withoutBody)
          this.#answer('client_response', at, reply.body ?? (event?.type === 'response_body' ? event.body : noBytes));
        return;
      case 'request_headers':
        this.#changeRequest(reply.headers);
        if (event?.type === 'request_headers' && event.endOfStream) this.#endRequest();
        return;
      case 'request_body':
        if (reply.headers !== undefined) this.#changeRequest(reply.headers);
        this.#requests?.chat.push(reply.body ?? (event?.type === 'request_body' ? event.body : noBytes));
        if (reply.endOfStream) this.#endRequest();
        return;
      case 'response_headers':
        this.#answerClient(reply.headers);
        return;
      case 'immediate_response':
        this.#endRequest();
        if (!this.#upstreamAnswered) this.#kept?.setHead('chat_request', undefined);
        this.#kept?.setHead(
          'client_response',
          this.#headOf([[':status', String(reply.status)], ...Object.entries(reply.headers)]),
        );
        this.#answers.client_response = this.#redactor.body('error');
        this.#answer('client_response', at, reply.body);
        return;
      case 'request_trailers':
      case 'response_trailers':
        return;
    }
  }

  #headOf(headers: Iterable<readonly [name: string, value: string]>): Head {
    const shown = this.#redactor.headers(headers);
    const head = new Map<string, string>();
    for (let at = 0; at + 1 < shown.length; at += 2) head.set(shown[at] ?? '', shown[at + 1] ?? '');
    return head;
  }

  #changeRequest(changes: HeaderMutation | undefined): void {
    this.#kept?.setHead('chat_request', this.#changed(this.#kept.headOf('client_request'), changes));
  }

  #answerClient(changes: HeaderMutation | undefined): void {
    this.#clientAnswered = true;
    this.#kept?.setHead('client_response', this.#changed(this.#kept.headOf('chat_response'), changes));
  }

  /** As Envoy sends it on: it removes headers, then overwrites or adds some. */
  #changed(head: Head = new Map(), { set = {}, remove = [] }: HeaderMutation = {}): Head {
    const changed = new Map(head);
    for (const name of remove) changed.delete(name);
    for (const [name, value] of this.#headOf(Object.entries(set))) changed.set(name, value);
    return changed;
  }

  #beginAnswers(kind: BodyKind): void {
    for (const body of ['chat_response', 'client_response'] as const) this.#answers[body] = this.#redactor.body(kind);
  }

  /** Recorded as it arrives: a word that a piece cuts is recorded with the next piece. */
  #answer(body: AnswerName, at: number, bytes: Uint8Array): void {
    if (this.#kept === null || bytes.length === 0) return;
    this.#answers[body] ??= this.#redactor.body('answer');
    this.#kept.addPiece(body, at, this.#answers[body].push(bytes));
  }

  /** Both bodies of the request are complete, or as much of them as there will be. */
  #endRequest(): void {
    const [kept, requests] = [this.#kept, this.#requests];
    if (kept === null || requests === null) return;
    this.#requests = null;
    const at = this.#now();
    const coding = this.#requestHeaders.get('content-encoding') ?? null;
    const sent = requests.client.whole();
    const read = decoded(sent, coding);
    // The body is shown decoded, so these headers would not match it.
    if (read !== sent)
      kept.setHead(
        'client_request',
        this.#changed(kept.headOf('client_request'), { remove: ['content-encoding', 'content-length'] }),
      );
    for (const [body, bytes] of [
      ['client_request', read],
      ['chat_request', requests.chat.whole()],
    ] as const)
      if (bytes.length > 0) kept.addPiece(body, at, this.#redactor.wholeBody(bytes, 'request'));
    kept.omit('client_request', requests.client.omitted);
    kept.omit('chat_request', requests.chat.omitted);
    // From here on the list shows the exchange as running.
    kept.setFacts(this.#factsOf(this.#summary()));
  }

  #factsOf(summary: ExchangeSummary): ExchangeFacts {
    const { requestId, profile, dropped, status, upstreamStatus, errorCode, finishReason, tokens, events, repairs } =
      summary;
    const model = summary.model ?? summary.asked.model;
    return {
      model: model === null ? null : this.#redactor.text(model),
      stream: summary.stream ?? summary.asked.stream,
      ...{ requestId, profile, dropped, status, upstreamStatus, errorCode, finishReason, tokens, events, repairs },
      outcome: null,
      cause: null,
      durationMs: null,
      firstTokenMs: null,
    };
  }
}

function causeOf(thrown: unknown): string {
  return inspect(thrown, { depth: 4 }).slice(0, maxCauseLength);
}

const noBytes = new Uint8Array(0);

/**
 * A request's body: credentials are found, and compressed bytes read, only when it is complete. Until then its pieces are
 * views of what arrived, not copies: they live no longer than the request.
 */
class RequestBody {
  readonly #pieces: Uint8Array[] = [];
  #size = 0;
  /** Bytes beyond those that are looked at. */
  omitted = 0;

  push(bytes: Uint8Array): void {
    const taken = bytes.subarray(0, maxRequestBytes - this.#size);
    this.#pieces.push(taken);
    this.#size += taken.length;
    this.omitted += bytes.length - taken.length;
  }

  whole(): Uint8Array {
    const [only = noBytes, ...more] = this.#pieces;
    return more.length === 0 ? only : Buffer.concat(this.#pieces);
  }
}

/** The body without its content coding; unchanged if that cannot be undone. */
function decoded(bytes: Uint8Array, contentEncoding: string | null): Uint8Array {
  const codings = parseContentCodings(contentEncoding);
  if (codings === null || codings.length === 0 || bytes.length === 0) return bytes;
  try {
    return decodeContent(bytes, codings, maxRequestBytes);
  } catch (thrown) {
    if (thrown instanceof ContentCodingError) return bytes;
    throw thrown;
  }
}
