import { GrowingBytes } from '../../memory/growing-bytes.ts';
import type { ResponseContext } from '../../translate/context.ts';
import { translateError } from '../../translate/error.ts';
import { StreamTranslator } from '../../translate/stream.ts';
import { JsonEnd } from '../../wire/json/json-end.ts';
import { ApiError } from '../../wire/schema/api-error.ts';
import type { ResponseStreamEvent } from '../../wire/schema/stream-events.ts';
import { doneEvent, encodeSseEvents } from '../../wire/sse/encode.ts';
import { repeatsMuch } from '../kept-echo.ts';
import { type ClientBytes, longBodyBytes, longEvents, longJson } from './long-body.ts';
import {
  type Disposition,
  emptyReport,
  hasDelta,
  type UpstreamBodyOptions,
  type UpstreamBodyReader,
  type UpstreamBodyReport,
} from './upstream-body-reader.ts';
import { invalidUpstreamBody, tooLarge } from './upstream-errors.ts';

/** What the body is: `error` under an error status, `neither` in a 2xx that is neither JSON nor an event stream. */
export type WholeBodyKind = 'json' | 'error' | 'neither';

const nothing = Buffer.alloc(0);

/** Reads a body that can only be translated as a whole: a completion, or an error. */
export function createWholeBodyReader(kind: WholeBodyKind, options: UpstreamBodyOptions): UpstreamBodyReader {
  const { context, committed, limits, status } = options;
  const limit = kind === 'error' ? limits.maxErrorBytes : limits.maxResponseBytes;
  const jsonEnd = new JsonEnd('any');
  const body = new GrowingBytes();
  let size = 0;
  let disposition: Disposition = null;
  let report: UpstreamBodyReport = emptyReport;
  let hasToken = false;

  function accept<Bytes extends ClientBytes>(bytes: Bytes): Bytes {
    disposition = 'accepted';
    return bytes;
  }

  /** Reports the error as an HTTP status, or in the body where the headers have been sent. */
  function refuse(error: ApiError): ClientBytes {
    report = { ...emptyReport, error, status: 'failed' };
    if (!committed) {
      disposition = error;
      return nothing;
    }
    // Under a 2xx the client parses the body as a Response: report the error as one that failed.
    if (context === null || status >= 300) return accept(Buffer.from(error.toJson()));
    const events = new StreamTranslator(context).fail(error);
    if (context.stream) return accept(eventBytes(events, repeatsMuch(context.echo)));
    const failed = events.at(-1);
    const response = failed !== undefined && 'response' in failed ? failed.response : null;
    return accept(response === null ? Buffer.from(error.toJson()) : jsonBytes(response, repeatsMuch(context.echo)));
  }

  function translatedError(): ApiError {
    if (status < 300) return invalidUpstreamBody('The upstream responded before it had the request.');
    const { contentType, retryAfter } = options;
    const answer = { status, contentType, body: body.whole().toString('utf8'), retryAfter };
    return translateError(answer, context?.profile.contextOverflow);
  }

  function translate(requested: ResponseContext): ClientBytes {
    const answer = parse(body.whole());
    body.clear();
    const { body: translated, events, report: told } = requested.answer.readJson(answer, requested);
    report = { ...told, events: events.length };
    hasToken = hasDelta(events);
    const isLong = size >= longBodyBytes || repeatsMuch(requested.echo);
    return accept(requested.stream ? eventBytes(events, isLong) : jsonBytes(translated, isLong));
  }

  function end(): ClientBytes {
    try {
      if (kind === 'error' || context === null) return refuse(translatedError());
      return kind === 'neither' ? refuse(invalidUpstreamBody(empty)) : translate(context);
    } catch (thrown) {
      return refuse(ApiError.from(thrown));
    }
  }

  return {
    push(bytes) {
      if (disposition !== null) return nothing;
      if (kind === 'neither') return refuse(invalidUpstreamBody(notAnApi));
      size += bytes.length;
      if (size <= limit) body.append(bytes);
      else if (kind === 'json') return refuse(tooLarge('a response', limit));
      // The beginning of an error is enough to translate it.
      else if (size - bytes.length < limit) body.append(bytes.subarray(0, limit - size + bytes.length));
      // Where each message has one reply, the next message may be trailers, and a reply to them carries no body.
      if (!committed) return nothing;
      jsonEnd.pushBytes(bytes);
      return jsonEnd.isWhole() ? end() : nothing;
    },
    start: () => nothing,
    end: () => (disposition === null ? end() : nothing),
    fail: (error) => (disposition === null ? refuse(error) : nothing),
    shed(error) {
      body.clear();
      return disposition === null ? refuse(error) : nothing;
    },
    keeps: () => 'received',
    disposition() {
      return disposition;
    },
    isComplete() {
      return disposition !== null;
    },
    sawFinishReason: () => false,
    hasToken() {
      return hasToken;
    },
    bufferedBytes() {
      return disposition instanceof ApiError ? 0 : Math.min(size, limit);
    },
    outputTokens() {
      return report.usage?.output_tokens ?? report.outputTokens;
    },
    report() {
      return report;
    },
  };
}

function eventBytes(events: readonly ResponseStreamEvent[], isLong: boolean): ClientBytes {
  return isLong ? longEvents(events, true) : Buffer.concat([encodeSseEvents(events), doneEvent]);
}

function jsonBytes(value: object, isLong: boolean): ClientBytes {
  return isLong ? longJson(value) : Buffer.from(JSON.stringify(value));
}

const notAnApi = 'The upstream’s response is neither JSON nor an event stream.';
const empty = 'The upstream’s response is empty.';

/** Throws `ApiError`. */
function parse(body: Buffer): unknown {
  const text = body.toString('utf8');
  try {
    return JSON.parse(text.startsWith('\ufeff') ? text.slice(1) : text);
  } catch (cause) {
    // A byte order mark is white space to `trim`.
    if (text.trim() === '') throw invalidUpstreamBody(empty);
    throw invalidUpstreamBody('The upstream’s response is not valid JSON.', cause);
  }
}
