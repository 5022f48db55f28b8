import { inspect } from 'node:util';
import { ContentCodingError, decodeContent, parseContentCodings } from '../../filter/exchange/content-coding.ts';
import { Exchange } from '../../filter/exchange/exchange.ts';
import type { ExchangeOptions } from '../../filter/exchange/options.ts';
import type { ExchangeSummary } from '../../filter/exchange/summary.ts';
import type { ExchangeTap } from '../../filter/exchange/tap.ts';
import type { ExchangeEvent, ExchangeReply, HeaderMap, HeaderMutation } from '../../filter/exchange/types.ts';
import type { EndedCall, ExchangeObserver } from '../../service/telemetry/observer.ts';
import type { WebSocketObserver } from '../../service/websocket/websocket-server.ts';
import { type BodyKind, Redactor } from '../redact/redactor.ts';
import { type ExchangeFacts, type ExchangeStore, type Head, noFacts, type StoredExchange } from './exchange-store.ts';
import { BodyRecord } from './record-body.ts';
import { type BodyName, maxBodyBytes, probeAgent } from './recording.ts';
import { burstOf } from './split-burst.ts';

/** What a service needs to record its exchanges. */
export interface Recorder {
  createExchange(options: ExchangeOptions): Exchange;
  readonly observer: ExchangeObserver;
  /** Records a handshake or a message of a WebSocket that did not become an exchange. */
  readonly refused: WebSocketObserver['refused'];
}

/** The message on a WebSocket that became the request of this id, while its turn runs; null for any other request. */
type MessageOf = (requestId: string) => Buffer | null;

/** Records each exchange in the store, from its first message to its end. */
export function createRecorder(store: ExchangeStore, messageOf: MessageOf = () => null): Recorder {
  const records = new WeakMap<Exchange, ExchangeRecord>();
  return {
    createExchange(options) {
      const record = new ExchangeRecord(store, messageOf, () => exchange.summary());
      const exchange: Exchange = new Exchange({ ...options, tap: record });
      records.set(exchange, record);
      return exchange;
    },
    observer: (call) => records.get(call.exchange)?.end(call),
    refused({ id, status, error }, message) {
      const kept = store.open(Date.now());
      const redactor = new Redactor();
      const record = (name: BodyName, head: Readonly<Record<string, string>>, body: Uint8Array) => {
        kept.setHead(name, redactor.headers(Object.entries(head)));
        const recorded = new BodyRecord(kept, name, redactor, name === 'client_request' ? 'request' : 'error');
        recorded.push(0, body);
        recorded.end(0);
      };
      record('client_request', handshake, message ?? noBytes);
      record('client_response', { ':status': String(status) }, Buffer.from(JSON.stringify({ error })));
      kept.setFacts({ ...noFacts, request_id: id, outcome: 'refused', status, error_code: String(error.code) });
    },
  };
}

const handshake = { ':method': 'GET', ':path': '/v1/responses', upgrade: 'websocket' };

const maxCauseLength = 16 * 1024;

/** Records what one exchange takes and gives, without its credentials. */
class ExchangeRecord implements ExchangeTap {
  readonly #store: ExchangeStore;
  readonly #messageOf: MessageOf;
  readonly #summary: () => ExchangeSummary;
  readonly #startedUnixMs = Date.now();
  readonly #startedAt = performance.now();
  readonly #redactor = new Redactor();
  /** Null before the headers came, and for a probe. */
  #kept: StoredExchange | null = null;
  #requestHeaders: HeaderMap = new Map();
  /** Those that are not complete yet. */
  readonly #bodies = new Map<BodyName, BodyRecord>();
  /** A piece of the upstream's answer that is being handled, and how many events each chunk in it became. */
  #arrived: { readonly at: number; readonly bytes: Uint8Array } | null = null;
  #eventsOfChunks: number[] = [];
  #upstreamAnswered = false;
  #clientAnswered = false;

  constructor(store: ExchangeStore, messageOf: MessageOf, summary: () => ExchangeSummary) {
    this.#store = store;
    this.#messageOf = messageOf;
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
        this.#kept.setHead('client_request', this.#redactor.headers(event.headers));
        this.#recordMessage(this.#kept);
        this.#begin('request', 'client_request', 'chat_request');
        return;
      case 'request_body':
        this.#push('client_request', this.#now(), event.body);
        return;
      case 'response_headers':
        this.#upstreamAnswered = true;
        this.#endRequest();
        this.#begin(
          Number(event.headers.get(':status')) >= 400 ? 'error' : 'answer',
          'chat_response',
          'client_response',
        );
        this.#kept?.setHead('chat_response', this.#redactor.headers(event.headers));
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
      this.#push('chat_response', then, chunk);
      this.#push('client_response', then, events);
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
    for (const body of this.#bodies.values()) body.end(this.#now());
    const thrown = cause ?? summary.errorCause;
    this.#kept?.setFacts({
      ...this.#factsOf(summary),
      // For an exchange that was still open, how the call ended is more informative than the outcome.
      outcome: how === 'done' ? summary.outcome : how,
      cause: thrown == null ? null : this.#redactor.text(inspect(thrown, { depth: 4 }).slice(0, maxCauseLength)),
      duration_ms: times.duration,
      first_token_ms: times.firstToken,
    });
  }

  #isProbe(): boolean {
    return this.#requestHeaders.get('user-agent') === probeAgent;
  }

  #now(): number {
    return performance.now() - this.#startedAt;
  }

  #flushArrived(): void {
    if (this.#arrived !== null) this.#push('chat_response', this.#arrived.at, this.#arrived.bytes);
    this.#arrived = null;
  }

  #onReply(reply: ExchangeReply, event: ExchangeEvent | null, at: number, withoutBody: boolean): void {
    switch (reply.type) {
      case 'response_body':
        if (!this.#clientAnswered || reply.headers !== undefined) this.#answerClient(reply.headers);
        if (!withoutBody)
          this.#push('client_response', at, reply.body ?? (event?.type === 'response_body' ? event.body : noBytes));
        return;
      case 'request_headers':
        this.#changeRequest(reply.headers);
        if (event?.type === 'request_headers' && event.endOfStream) this.#endRequest();
        return;
      case 'request_body':
        if (reply.headers !== undefined) this.#changeRequest(reply.headers);
        this.#push('chat_request', at, reply.body ?? (event?.type === 'request_body' ? event.body : noBytes));
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
          this.#redactor.headers([[':status', String(reply.status)], ...Object.entries(reply.headers)]),
        );
        this.#begin('error', 'client_response');
        this.#push('client_response', at, reply.body);
        return;
      case 'request_trailers':
      case 'response_trailers':
        return;
    }
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
    const rest = [...head].filter(([name]) => !remove.includes(name));
    return new Map([...rest, ...this.#redactor.headers(Object.entries(set))]);
  }

  #recordMessage(kept: StoredExchange): void {
    const message = this.#messageOf(this.#requestHeaders.get('x-request-id') ?? '');
    if (message === null) return;
    const record = new BodyRecord(kept, 'websocket_message', this.#redactor, 'request');
    record.push(0, message);
    record.end(0);
  }

  #begin(kind: BodyKind, ...names: readonly BodyName[]): void {
    for (const name of names)
      if (this.#kept !== null) this.#bodies.set(name, new BodyRecord(this.#kept, name, this.#redactor, kind));
  }

  #push(name: BodyName, at: number, bytes: Uint8Array): void {
    this.#bodies.get(name)?.push(at, bytes);
  }

  /** Both bodies of the request are complete, or as much of them as there will be. */
  #endRequest(): void {
    const [client, chat] = [this.#bodies.get('client_request'), this.#bodies.get('chat_request')];
    if (this.#kept === null || client === undefined) return;
    const at = this.#now();
    client.end(at, (bytes) => this.#decoded(bytes));
    chat?.end(at);
    this.#bodies.clear();
    // From here on the list shows the exchange as running.
    this.#kept.setFacts(this.#factsOf(this.#summary()));
  }

  /** The client's body without its content coding; unchanged if that cannot be undone. */
  #decoded(bytes: Uint8Array): Uint8Array {
    const codings = parseContentCodings(this.#requestHeaders.get('content-encoding') ?? null);
    if (codings === null || codings.length === 0 || bytes.length === 0) return bytes;
    try {
      const read = decodeContent(bytes, codings, maxBodyBytes);
      // The body is shown decoded, so these headers would not match it.
      const remove = ['content-encoding', 'content-length'];
      this.#kept?.setHead('client_request', this.#changed(this.#kept.headOf('client_request'), { remove }));
      return read;
    } catch (thrown) {
      if (thrown instanceof ContentCodingError) return bytes;
      throw thrown;
    }
  }

  #factsOf(summary: ExchangeSummary): ExchangeFacts {
    const { profile, dropped, status, tokens, repairs } = summary;
    const model = summary.model ?? summary.asked.model;
    return {
      ...{ ...noFacts, profile, dropped, status, tokens, repairs },
      request_id: summary.requestId,
      model: model === null ? null : this.#redactor.text(model),
      stream: summary.stream ?? summary.asked.stream,
      error_code: summary.errorCode,
      finish_reason: summary.finishReason,
    };
  }
}

const noBytes = new Uint8Array(0);
