import { GrowingBytes } from '../../../formats/bytes/growing-bytes.ts';
import { JsonEnd } from '../../../formats/json/json-end.ts';
import { hasMoreValues } from '../../../formats/json/scan.ts';
import { isToldInStream, translateError } from '../../translate/chat-to-response/error.ts';
import { StreamTranslator } from '../../translate/chat-to-response/stream.ts';
import type { ResponseContext } from '../../translate/shared/context.ts';
import { ApiError } from '../../wire/schema/api-error.ts';
import { isDelta } from '../../wire/schema/stream-events.ts';
import { repeatsMuch } from '../kept-echo.ts';
import { type ClientBytes, encodeEvents, encodeJson, longBodyBytes } from './delivery.ts';
import {
  AnswerState,
  emptyReport,
  mostValuesFor,
  nothing,
  tooLarge,
  tooManyValues,
  type UpstreamBodyOptions,
  type UpstreamBodyReader,
  type UpstreamBodyReport,
} from './upstream-body-reader.ts';

/** Reads a body that is translated as a whole: JSON, an `error` (by status, or before the request was translated), or a 2xx of another type. */
export function createWholeBodyReader(
  kind: 'json' | 'error' | 'neither',
  options: UpstreamBodyOptions,
  state = new AnswerState(),
): UpstreamBodyReader {
  const { context, committed, limits, status, mayReplaceStatus } = options;
  const limit = kind === 'error' ? limits.maxErrorBytes : limits.maxResponseBytes;
  const jsonEnd = new JsonEnd('any');
  const body = new GrowingBytes();

  function decide(decision: 'translated' | ApiError, report: UpstreamBodyReport): void {
    state.decision = decision;
    state.isComplete = true;
    state.outputTokens = report.usage?.output_tokens ?? report.outputTokens;
    state.whole = report;
    if (decision !== 'translated') state.bufferedBytes = 0;
  }

  /** Reports the error as an HTTP status, or in the body where the headers have been sent. */
  function refuse(error: ApiError): ClientBytes {
    body.clear();
    const isInStream = mayReplaceStatus && context?.stream === true && isToldInStream(error);
    decide(committed || isInStream ? 'translated' : error, { ...emptyReport, error, status: 'failed' });
    if (!committed && !isInStream) return nothing;
    // Under a 2xx the client parses the body as a Response: report the error as one that failed.
    if (context === null || (status >= 300 && !isInStream)) return Buffer.from(error.toJson());
    const translator = new StreamTranslator(context);
    const events = translator.fail(error);
    const isLong = repeatsMuch(context.echo);
    return context.stream ? encodeEvents(events, true, isLong) : encodeJson(translator.response.final, isLong);
  }

  function translatedError(): ApiError {
    if (status < 300) return ApiError.invalidUpstream('The upstream responded before it received the request.');
    const { contentType, retryAfter } = options;
    // A long error may be cut within a character, which is left out.
    const text = new TextDecoder().decode(body.whole(), { stream: true });
    const answer = { status, contentType, body: text, retryAfter };
    return translateError(answer, context?.profile.contextOverflow);
  }

  function translate(requested: ResponseContext): ClientBytes {
    const isLong = body.length >= longBodyBytes || repeatsMuch(requested.echo);
    const { length } = body;
    const answer = parse(body.whole(), mostValuesFor(requested));
    body.clear();
    const { body: translated, events, report } = requested.answer.readJson(answer, requested, length);
    decide('translated', { ...report, events: events.length });
    state.hasToken = events.some(isDelta);
    return requested.stream ? encodeEvents(events, true, isLong) : encodeJson(translated, isLong);
  }

  function finish(): ClientBytes {
    try {
      if (kind === 'error' || context === null) return refuse(translatedError());
      return kind === 'neither' ? refuse(ApiError.invalidUpstream(empty)) : translate(context);
    } catch (thrown) {
      return refuse(ApiError.from(thrown));
    }
  }

  return {
    push(bytes, isLast) {
      if (state.isComplete) return nothing;
      if (kind === 'neither') return refuse(ApiError.invalidUpstream(notAnApi));
      if (kind === 'json' && body.length + bytes.length > limit) return refuse(tooLarge('a response', limit));
      // Of an error, the beginning is enough.
      body.append(bytes.subarray(0, limit - body.length), 0, isLast);
      state.bufferedBytes = body.length;
      // Where headers are committed, the next message may be trailers, whose reply carries no body.
      if (!committed) return nothing;
      jsonEnd.pushBytes(bytes);
      return jsonEnd.isWhole() ? finish() : nothing;
    },
    start: () => nothing,
    end(error) {
      if (state.isComplete) return nothing;
      return error === undefined ? finish() : refuse(error);
    },
    state,
  };
}

const notAnApi = 'The upstream’s response is neither JSON nor an event stream.';
const empty = 'The upstream’s response is empty.';

function parse(body: Buffer, most: number): unknown {
  const text = body.toString('utf8');
  if (hasMoreValues(text, most)) throw tooManyValues('a response', most);
  try {
    return JSON.parse(text.startsWith('\ufeff') ? text.slice(1) : text);
  } catch (cause) {
    // A byte order mark is white space to `trim`.
    if (text.trim() === '') throw ApiError.invalidUpstream(empty);
    throw ApiError.invalidUpstream('The upstream’s response is not valid JSON.', cause);
  }
}
