import { inspect } from 'node:util';
import {
  Exchange,
  type ExchangeEvent,
  type ExchangeOptions,
  type ExchangeReply,
  type ExchangeSummary,
  type HeaderMap,
  type HeaderMutation,
} from '../../filter/index.ts';
import { ContentCodingError, decodeContent, parseContentCodings } from '../../formats/bytes/content-coding.ts';
import { joinBytes } from '../../formats/bytes/growing-bytes.ts';
import { type BodyKind, Redactor } from '../../formats/credentials/redactor.ts';
import { contain, type EndedCall } from '../../service/telemetry/observer.ts';
import type { WebSocketRefusal } from '../../service/websocket/client-socket.ts';
import { writeTurnRequestId } from '../../service/websocket/forward.ts';
import { readOwnField, readRawFields } from '../../service/websocket/raw-fields.ts';
import { type ExchangeFacts, type ExchangeStore, type Head, noFacts, type StoredExchange } from './exchange-store.ts';
import { type BodyRecord, createBodyRecord, splitBurst } from './record-body.ts';
import { type BodyName, maxBodyBytes, probeAgent } from './recording.ts';

/** The message on a WebSocket that became the request of this id, while its turn runs; null for any other request. */
type MessageOf = (requestId: string) => Buffer | null;

/**
 * Records each exchange in the store, from its first message to its end. An error of the recorder goes to `failed`, and
 * does not touch the exchange.
 */
export function createRecorder(
  store: ExchangeStore,
  messageOf: MessageOf = () => null,
  failed: (thrown: unknown) => void = () => {},
) {
  const records = new WeakMap<Exchange, Pick<ExchangeRecord, 'end'>>();
  return {
    createExchange(options: ExchangeOptions): Exchange {
      const own = new ExchangeRecord(store, messageOf, () => exchange.summary());
      const record = contain(
        {
          onEvent: (event: ExchangeEvent) => own.onEvent(event),
          onMessage: (events: number) => own.onMessage(events),
          onReplies: (replies: readonly ExchangeReply[], event: ExchangeEvent | null) => own.onReplies(replies, event),
          end: (call: EndedCall) => own.end(call),
        },
        failed,
      );
      const exchange: Exchange = new Exchange({ ...options, tap: record });
      records.set(exchange, record);
      return exchange;
    },
    observer: (call: EndedCall): void => records.get(call.exchange)?.end(call),
    /** Records a handshake or a message of a WebSocket that did not become an exchange. */
    refused(refusal: WebSocketRefusal, message: Buffer | null): void {
      const { id, turn: number, userAgent, status, error } = refusal;
      const [kept, redactor] = [store.open(Date.now()), new Redactor()];
      const turn = message === null ? null : readTurn(message);
      const client = userAgent === null ? {} : { 'user-agent': userAgent };
      const request = Object.entries({ ...(turn === null ? handshake : post), ...client });
      const response = [[':status', String(status)]] as const;
      kept.setHead('client_request', redactor.headers(request));
      if (turn !== null && message !== null) recordWhole(message, kept, 'websocket_message', redactor, 'request');
      recordWhole(turn?.body ?? message ?? noBytes, kept, 'client_request', redactor, 'request');
      kept.setHead('client_response', redactor.headers(response));
      recordWhole(Buffer.from(JSON.stringify({ error })), kept, 'client_response', redactor, 'error');
      const request_id = id === null || number === null ? id : writeTurnRequestId(id, number);
      const facts = { request_id, outcome: 'refused', status, error_code: String(error.code) };
      kept.setFacts({ ...noFacts, ...facts, model: turn?.model ?? null });
    },
  };
}

const handshake = { ':method': 'GET', ':path': '/v1/responses', upgrade: 'websocket' };
const post = { ':method': 'POST', ':path': '/v1/responses', 'content-type': 'application/json' };

/** Reads the HTTP request that a WebSocket message stands for; null for a message of another type. */
function readTurn(message: Buffer): { readonly body: Buffer; readonly model: string | null } | null {
  try {
    const fields = readRawFields(message, maxModelValues) ?? new Map<string, Buffer>();
    if (readOwnField(fields, 'type', maxModelValues) !== 'response.create') return null;
    const model = readOwnField(fields, 'model', maxModelValues);
    const others = [...fields].filter(([name]) => name !== 'type');
    const pieces = others.flatMap(([name, raw], at) => [
      Buffer.from(`${at === 0 ? '' : ','}${JSON.stringify(name)}:`),
      raw,
    ]);
    return { body: joinBytes([openBrace, ...pieces, closeBrace]), model: typeof model === 'string' ? model : null };
  } catch {
    return null;
  }
}

const [openBrace, closeBrace] = [Buffer.from('{'), Buffer.from('}')];
/** A model's name counts as one JSON value. */
const maxModelValues = 1;

function recordWhole(bytes: Uint8Array, ...of: Parameters<typeof createBodyRecord>): void {
  const record = createBodyRecord(...of);
  record.push(0, bytes);
  record.end(0);
}

const maxCauseLength = 16 * 1024;

class ExchangeRecord {
  readonly #store: ExchangeStore;
  readonly #messageOf: MessageOf;
  readonly #summary: () => ExchangeSummary;
  readonly #startedUnixMs = Date.now();
  readonly #startedAt = performance.now();
  readonly #redactor = new Redactor();
  /** The record in the store. It is null before the headers came, and for a readiness check. */
  #kept: StoredExchange | null = null;
  #requestHeaders: HeaderMap = new Map();
  readonly #bodies = new Map<BodyName, BodyRecord>();
  /** The piece of the upstream's answer that is being translated, with its time of arrival. */
  #arrived: { readonly at: number; readonly bytes: Uint8Array } | null = null;
  #eventsOfChunks: number[] = [];
  #upstreamAnswered = false;
  #clientAnswered = false;

  constructor(store: ExchangeStore, messageOf: MessageOf, summary: () => ExchangeSummary) {
    this.#store = store;
    this.#messageOf = messageOf;
    this.#summary = summary;
  }

  onMessage(events: number): void {
    this.#eventsOfChunks.push(events);
  }

  onEvent(event: ExchangeEvent): void {
    switch (event.type) {
      case 'response_body':
        this.#flushArrived();
        this.#arrived = { at: this.#now(), bytes: event.body };
        return;
      case 'request_headers': {
        this.#requestHeaders = event.headers;
        if (this.#isProbe()) return;
        this.#kept = this.#store.open(this.#startedUnixMs);
        this.#kept.setHead('client_request', this.#redactor.headers(event.headers));
        const message = this.#messageOf(event.headers.get('x-request-id') ?? '');
        if (message !== null) recordWhole(message, this.#kept, 'websocket_message', this.#redactor, 'request');
        this.#begin('request', 'client_request', 'chat_request');
        return;
      }
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

  onReplies(replies: readonly ExchangeReply[], event: ExchangeEvent | null): void {
    const piece = this.#arrived;
    const burst =
      piece !== null && this.#eventsOfChunks.length > 1 ? splitBurst(piece.bytes, replies, this.#eventsOfChunks) : null;
    if (burst === null) this.#flushArrived();
    // A piece and its reply get the same time: translating takes microseconds, and reading the clock twice would too.
    const at = piece?.at ?? this.#now();
    for (const reply of replies) this.#onReply(reply, event, at, burst !== null);
    for (const [index, { chunk, events }] of (burst ?? []).entries()) {
      // Chunks of one piece are translated one after the other: each is timed a microsecond after the one before.
      const then = at + index / 1000;
      this.#push('chat_response', then, chunk);
      this.#push('client_response', then, events);
    }
    this.#arrived = null;
    this.#eventsOfChunks = [];
  }

  end({ how, summary, times, cause }: EndedCall): void {
    this.#flushArrived();
    // A call may end before any headers came.
    if (!this.#isProbe()) this.#kept ??= this.#store.open(this.#startedUnixMs);
    this.#endRequest();
    const at = this.#now();
    for (const body of this.#bodies.values()) body.end(at);
    const thrown = cause ?? summary.errorCause;
    this.#kept?.setFacts({
      ...this.#collectFacts(summary),
      // For an exchange that was still open, how the call ended is more informative than the outcome.
      outcome: how === 'done' ? summary.outcome : how,
      cause: thrown == null ? null : this.#redactor.text(inspect(thrown, { depth: 4 }).slice(0, maxCauseLength)),
      // The call's clock starts later than the record's, by which pieces are timed.
      duration_ms: at,
      first_token_ms: times.firstToken === null ? null : at - times.duration + times.firstToken,
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
      case 'immediate_response': {
        this.#endRequest();
        if (!this.#upstreamAnswered) this.#kept?.setHead('chat_request', undefined);
        const head = this.#redactor.headers([[':status', String(reply.status)], ...Object.entries(reply.headers)]);
        this.#kept?.setHead('client_response', head);
        this.#begin('error', 'client_response');
        this.#push('client_response', at, reply.body);
        return;
      }
      case 'request_trailers':
      case 'response_trailers':
        return;
    }
  }

  #changeRequest(changes: HeaderMutation | undefined): void {
    this.#kept?.setHead('chat_request', this.#changeHead(this.#kept.heads.client_request, changes));
  }

  #answerClient(changes: HeaderMutation | undefined): void {
    this.#clientAnswered = true;
    this.#kept?.setHead('client_response', this.#changeHead(this.#kept.heads.chat_response, changes));
  }

  /** A head as Envoy forwards it: after it removed some headers and set others. */
  #changeHead(head: Head = new Map(), { set = {}, remove = [] }: HeaderMutation = {}): Head {
    const rest = [...head].filter(([name]) => !remove.includes(name));
    return new Map([...rest, ...this.#redactor.headers(Object.entries(set))]);
  }

  #begin(kind: BodyKind, ...names: readonly BodyName[]): void {
    for (const name of names)
      if (this.#kept !== null) this.#bodies.set(name, createBodyRecord(this.#kept, name, this.#redactor, kind));
  }

  #push(name: BodyName, at: number, bytes: Uint8Array): void {
    this.#bodies.get(name)?.push(at, bytes);
  }

  #endRequest(): void {
    const [client, chat] = [this.#bodies.get('client_request'), this.#bodies.get('chat_request')];
    if (this.#kept === null || client === undefined) return;
    const at = this.#now();
    client.end(at, (bytes) => this.#decodeBody(bytes));
    chat?.end(at);
    this.#bodies.clear();
    // From here on the list shows the exchange as running.
    this.#kept.setFacts(this.#collectFacts(this.#summary()));
  }

  /** Removes the content coding of the client's body. A body that cannot be decoded stays as it is. */
  #decodeBody(bytes: Uint8Array): Uint8Array {
    const codings = parseContentCodings(this.#requestHeaders.get('content-encoding') ?? null);
    if (codings === null || codings.length === 0 || bytes.length === 0) return bytes;
    try {
      const read = decodeContent(bytes, codings, maxBodyBytes);
      // The body is shown decoded, so these headers would not match it.
      const remove = ['content-encoding', 'content-length'];
      this.#kept?.setHead('client_request', this.#changeHead(this.#kept.heads.client_request, { remove }));
      return read;
    } catch (thrown) {
      if (thrown instanceof ContentCodingError) return bytes;
      throw thrown;
    }
  }

  #collectFacts(summary: ExchangeSummary): ExchangeFacts {
    const { profile, dropped, status, tokens, repairs } = summary;
    const model = summary.model ?? summary.asked.model;
    return {
      ...noFacts,
      profile,
      dropped,
      status,
      tokens,
      repairs,
      request_id: summary.requestId,
      model: model === null ? null : this.#redactor.text(model),
      stream: summary.stream ?? summary.asked.stream,
      error_code: summary.errorCode,
      finish_reason: summary.finishReason,
    };
  }
}

const noBytes = new Uint8Array(0);
