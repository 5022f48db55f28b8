import type { Exchange, HeaderMap, Replies } from '../../filter/index.ts';
import { jsonOf } from '../../formats/json/loose.ts';
import { SseDecoder } from '../../formats/sse/sse-decoder.ts';
import { findValue } from './fields.ts';

export interface RecordedAnswer {
  readonly status: number;
  readonly headers: HeaderMap;
  readonly chunks: readonly { readonly atMs: number | null; readonly bytes: Buffer }[];
}

/** An event of the client's stream; `data` is the parsed JSON, or the text if it is not JSON, such as `[DONE]`. */
export interface ClientEvent {
  readonly event: string | null;
  readonly data: unknown;
}

/** A chunk of the upstream's answer, and the events that it caused. `explain --json` prints these keys. */
export interface ReplayedChunk {
  /** The chunk's number, counted from 1; null for the end of the upstream's body. */
  readonly number: number | null;
  readonly at_ms: number | null;
  readonly text: string;
  readonly events: readonly ClientEvent[];
}

/** The explanation of an answer. `explain --json` prints these keys. */
export type AnswerRun = ReturnType<typeof runAnswer>;

/**
 * Gives an upstream's answer to an exchange whose request was sent, a piece at a time, and collects what the client gets. Each
 * iteration of the chunks takes another exchange from `open`.
 */
export function runAnswer(open: () => Exchange, answer: RecordedAnswer) {
  const exchange = open();
  const collected = createCollector();
  for (const _chunk of replay(exchange, answer, collected));
  const { outcome, errorCode } = exchange.summary();
  /** The chunks are replayed anew on each iteration, so that only one is in memory. */
  const chunks = { [Symbol.iterator]: () => replay(open(), answer, createCollector()) };
  return { outcome, error_code: errorCode, chunks, ...collected.result() };
}

type Collector = ReturnType<typeof createCollector>;

function* replay(exchange: Exchange, answer: RecordedAnswer, collected: Collector): Generator<ReplayedChunk, void> {
  const headers = new Map([[':status', String(answer.status)], ...answer.headers]);
  collected.take(exchange.handle({ type: 'response_headers', headers, endOfStream: false }));
  let number = 0;
  for (const { atMs, bytes } of answer.chunks) {
    number += 1;
    const replies = exchange.handle({ type: 'response_body', body: bytes, endOfStream: false });
    yield { number, at_ms: atMs, text: bytes.toString(), events: collected.take(replies) };
  }
  const last = exchange.handle({ type: 'response_body', body: Buffer.alloc(0), endOfStream: true });
  const events = collected.take(last);
  if (events.length > 0) yield { number: null, at_ms: null, text: '', events };
}

function createCollector() {
  const decoder = new SseDecoder({ maxEventBytes: Number.POSITIVE_INFINITY });
  const json: Buffer[] = [];
  let status = 200;
  let headers: Readonly<Record<string, string>> = {};
  let isStream = false;
  let response: unknown = null;

  function readEvents(bytes: Buffer): ClientEvent[] {
    return decoder.push(bytes).flatMap((message): ClientEvent[] => {
      if (message.type === 'comment') return [];
      const data = jsonOf(message.data) ?? message.data;
      response = findValue(data, ['response']) ?? response;
      return [{ event: message.event, data }];
    });
  }

  return {
    take(replies: Replies): ClientEvent[] {
      const events: ClientEvent[] = [];
      for (const reply of replies) {
        if (reply.type === 'immediate_response') {
          ({ status, headers } = reply);
          json.length = 0;
          json.push(Buffer.from(reply.body));
          isStream = false;
        } else if (reply.type === 'response_headers' && reply.headers?.set !== undefined) {
          headers = reply.headers.set;
          status = Number(headers[':status'] ?? status);
          isStream = headers['content-type']?.startsWith('text/event-stream') ?? false;
        } else if (reply.type === 'response_body' && reply.body !== undefined) {
          if (isStream) events.push(...readEvents(Buffer.from(reply.body)));
          else json.push(Buffer.from(reply.body));
        }
      }
      return events;
    },
    /** What the client gets. `response` is the final Response, or null if there is none. */
    result() {
      const shown = Object.fromEntries(Object.entries(headers).filter(([name]) => !name.startsWith(':')));
      const text = Buffer.concat(json).toString();
      /** The client's body if it is JSON, a Response or an error; null for a stream. */
      const body = isStream ? null : (jsonOf(text) ?? text);
      return { status, headers: shown, body, response: isStream ? response : body };
    },
  };
}
