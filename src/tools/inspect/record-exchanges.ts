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
import { requestOfTurn } from '../../service/websocket/forward.ts';
import { readOwnField, readRawFields } from '../../service/websocket/raw-fields.ts';
import type { WebSocketRefusal } from '../../service/websocket/websocket-observer.ts';
import { type ExchangeFacts, type ExchangeStore, type Head, noFacts, type StoredExchange } from './exchange-store.ts';
import { type BodyRecord, createBodyRecord } from './record-body.ts';
import { type BodyName, maxBodyBytes, probeAgent } from './recording.ts';
import { splitBurst } from './split-burst.ts';

/** The message on a WebSocket that became the request of this id, while its turn runs; null for any other request. */
type MessageOf = (requestId: string) => Buffer | null;

/**
 * Records each exchange in the store, from its first message to its end: what a service needs for it. What goes wrong with a record is told to
 * `failed`, and does not touch the exchange.
 */
export function createRecorder(
  store: ExchangeStore,
  messageOf: MessageOf = () => null,
  failed: (thrown: unknown) => void = () => {},
) {
  const records = new WeakMap<Exchange, ReturnType<typeof createRecord>>();
  return {
    createExchange(options: ExchangeOptions): Exchange {
      const record = contain(
        createRecord(store, messageOf, () => exchange.summary()),
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
      const request_id = id === null || number === null ? id : requestOfTurn(id, number);
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
/** A model name is a single JSON value. */
const maxModelValues = 1;

function recordWhole(bytes: Uint8Array, ...of: Parameters<typeof createBodyRecord>): void {
  const record = createBodyRecord(...of);
  record.push(0, bytes);
  record.end(0);
}

const maxCauseLength = 16 * 1024;

/** Records what one exchange takes and gives, without its credentials. */
function createRecord(store: ExchangeStore, messageOf: MessageOf, summary: () => ExchangeSummary) {
  const startedUnixMs = Date.now();
  const startedAt = performance.now();
  const redactor = new Redactor();
  /** The record in the store. It is null before the headers came, and for a readiness check. */
  let kept: StoredExchange | null = null;
  let requestHeaders: HeaderMap = new Map();
  const bodies = new Map<BodyName, BodyRecord>();
  /** The piece of the upstream's answer that is being translated, with its time of arrival. */
  let arrived: { readonly at: number; readonly bytes: Uint8Array } | null = null;
  let eventsOfChunks: number[] = [];
  let upstreamAnswered = false;
  let clientAnswered = false;

  function onEvent(event: ExchangeEvent): void {
    switch (event.type) {
      case 'response_body':
        flushArrived();
        arrived = { at: now(), bytes: event.body };
        return;
      case 'request_headers': {
        requestHeaders = event.headers;
        if (isProbe()) return;
        kept = store.open(startedUnixMs);
        kept.setHead('client_request', redactor.headers(event.headers));
        const message = messageOf(event.headers.get('x-request-id') ?? '');
        if (message !== null) recordWhole(message, kept, 'websocket_message', redactor, 'request');
        begin('request', 'client_request', 'chat_request');
        return;
      }
      case 'request_body':
        push('client_request', now(), event.body);
        return;
      case 'response_headers':
        upstreamAnswered = true;
        endRequest();
        begin(Number(event.headers.get(':status')) >= 400 ? 'error' : 'answer', 'chat_response', 'client_response');
        kept?.setHead('chat_response', redactor.headers(event.headers));
        return;
      case 'request_trailers':
      case 'response_trailers':
        return;
    }
  }

  function onReplies(replies: readonly ExchangeReply[], event: ExchangeEvent | null): void {
    const piece = arrived;
    const burst = piece !== null && eventsOfChunks.length > 1 ? splitBurst(piece.bytes, replies, eventsOfChunks) : null;
    if (burst === null) flushArrived();
    // One time for a piece and its reply: translating takes microseconds, and so would reading the clock twice for each token.
    const at = piece?.at ?? now();
    for (const reply of replies) onReply(reply, event, at, burst !== null);
    for (const [index, { chunk, events }] of (burst ?? []).entries()) {
      // Chunks of one piece are translated one after the other, some microseconds each.
      const then = at + index / 1000;
      push('chat_response', then, chunk);
      push('client_response', then, events);
    }
    arrived = null;
    eventsOfChunks = [];
  }

  function end({ how, summary, times, cause }: EndedCall): void {
    flushArrived();
    // It may end before any headers came.
    if (!isProbe()) kept ??= store.open(startedUnixMs);
    endRequest();
    const at = now();
    for (const body of bodies.values()) body.end(at);
    const thrown = cause ?? summary.errorCause;
    kept?.setFacts({
      ...collectFacts(summary),
      // For an exchange that was still open, how the call ended is more informative than the outcome.
      outcome: how === 'done' ? summary.outcome : how,
      cause: thrown == null ? null : redactor.text(inspect(thrown, { depth: 4 }).slice(0, maxCauseLength)),
      // The call’s clock starts later than this one, by which pieces are timed.
      duration_ms: at,
      first_token_ms: times.firstToken === null ? null : at - times.duration + times.firstToken,
    });
  }

  function isProbe(): boolean {
    return requestHeaders.get('user-agent') === probeAgent;
  }

  function now(): number {
    return performance.now() - startedAt;
  }

  function flushArrived(): void {
    if (arrived !== null) push('chat_response', arrived.at, arrived.bytes);
    arrived = null;
  }

  function onReply(reply: ExchangeReply, event: ExchangeEvent | null, at: number, withoutBody: boolean): void {
    switch (reply.type) {
      case 'response_body':
        if (!clientAnswered || reply.headers !== undefined) answerClient(reply.headers);
        if (!withoutBody)
          push('client_response', at, reply.body ?? (event?.type === 'response_body' ? event.body : noBytes));
        return;
      case 'request_headers':
        changeRequest(reply.headers);
        if (event?.type === 'request_headers' && event.endOfStream) endRequest();
        return;
      case 'request_body':
        if (reply.headers !== undefined) changeRequest(reply.headers);
        push('chat_request', at, reply.body ?? (event?.type === 'request_body' ? event.body : noBytes));
        if (reply.endOfStream) endRequest();
        return;
      case 'response_headers':
        answerClient(reply.headers);
        return;
      case 'immediate_response': {
        endRequest();
        if (!upstreamAnswered) kept?.setHead('chat_request', undefined);
        const head = redactor.headers([[':status', String(reply.status)], ...Object.entries(reply.headers)]);
        kept?.setHead('client_response', head);
        begin('error', 'client_response');
        push('client_response', at, reply.body);
        return;
      }
      case 'request_trailers':
      case 'response_trailers':
        return;
    }
  }

  function changeRequest(changes: HeaderMutation | undefined): void {
    kept?.setHead('chat_request', changeHead(kept.heads.client_request, changes));
  }

  function answerClient(changes: HeaderMutation | undefined): void {
    clientAnswered = true;
    kept?.setHead('client_response', changeHead(kept.heads.chat_response, changes));
  }

  /** A head as Envoy forwards it: after it removed some headers and set others. */
  function changeHead(head: Head = new Map(), { set = {}, remove = [] }: HeaderMutation = {}): Head {
    const rest = [...head].filter(([name]) => !remove.includes(name));
    return new Map([...rest, ...redactor.headers(Object.entries(set))]);
  }

  function begin(kind: BodyKind, ...names: readonly BodyName[]): void {
    for (const name of names) if (kept !== null) bodies.set(name, createBodyRecord(kept, name, redactor, kind));
  }

  function push(name: BodyName, at: number, bytes: Uint8Array): void {
    bodies.get(name)?.push(at, bytes);
  }

  /** Ends the records of the request's bodies. No more of them will come. */
  function endRequest(): void {
    const [client, chat] = [bodies.get('client_request'), bodies.get('chat_request')];
    if (kept === null || client === undefined) return;
    const at = now();
    client.end(at, decodeBody);
    chat?.end(at);
    bodies.clear();
    // From here on the list shows the exchange as running.
    kept.setFacts(collectFacts(summary()));
  }

  /** Removes the content coding of the client's body. A body that cannot be decoded stays as it is. */
  function decodeBody(bytes: Uint8Array): Uint8Array {
    const codings = parseContentCodings(requestHeaders.get('content-encoding') ?? null);
    if (codings === null || codings.length === 0 || bytes.length === 0) return bytes;
    try {
      const read = decodeContent(bytes, codings, maxBodyBytes);
      // The body is shown decoded, so these headers would not match it.
      const remove = ['content-encoding', 'content-length'];
      kept?.setHead('client_request', changeHead(kept.heads.client_request, { remove }));
      return read;
    } catch (thrown) {
      if (thrown instanceof ContentCodingError) return bytes;
      throw thrown;
    }
  }

  function collectFacts(summary: ExchangeSummary): ExchangeFacts {
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
      model: model === null ? null : redactor.text(model),
      stream: summary.stream ?? summary.asked.stream,
      error_code: summary.errorCode,
      finish_reason: summary.finishReason,
    };
  }

  const onMessage = (events: number) => void eventsOfChunks.push(events);
  return { onEvent, onMessage, onReplies, end };
}

const noBytes = new Uint8Array(0);
