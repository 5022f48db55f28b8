import { ApiError } from '../schema/api-error.ts';
import type { ResponseResource } from '../schema/response-resource.ts';
import { readSseData } from '../sse/data.ts';
import { createSseDecoder } from '../sse/decode.ts';
import { DONE, encodeSseEvents } from '../sse/encode.ts';
import { translateCompletion } from '../translate/completion.ts';
import type { ResponseContext } from '../translate/context.ts';
import { translateError } from '../translate/error.ts';
import { createStreamTranslator } from '../translate/stream.ts';
import { eventsOfResponse } from '../translate/synthesise.ts';
import { type Answer, type AnswerOptions, type AnswerReport, nothingToReport } from './answer.ts';

/** What the body is expected to be: `error` for error statuses, `neither` for a 200 that is no API's answer. */
export type WholeKind = 'json' | 'events' | 'error' | 'neither';

const nothing = Buffer.alloc(0);

/** An answer that can only be given when the whole body was read. */
export function createWholeAnswer(kind: WholeKind, options: AnswerOptions): Answer {
  const { context, committed, limits, status } = options;
  const limit = kind === 'error' ? limits.maxErrorBytes : limits.maxResponseBytes;
  const pieces: Buffer[] = [];
  let size = 0;
  let verdict: Answer['verdict'] = null;
  let report: AnswerReport = nothingToReport;

  function accept(bytes: Buffer): Buffer {
    verdict = 'accepted';
    return bytes;
  }

  /** The error as HTTP, or where the headers have left as the best that a body can say. */
  function refuse(error: ApiError): Buffer {
    report = { ...nothingToReport, error, status: 'failed' };
    if (!committed) {
      verdict = error;
      return nothing;
    }
    // Below 300 the client takes the body for a Response: one that failed is what it understands.
    if (context === null || status >= 300) return accept(Buffer.from(error.toJson()));
    const events = createStreamTranslator(context).fail(error);
    if (context.stream) return accept(Buffer.concat([encodeSseEvents(events), DONE]));
    const last = events.at(-1);
    return accept(
      Buffer.from(last !== undefined && 'response' in last ? JSON.stringify(last.response) : error.toJson()),
    );
  }

  function errorAnswer(): ApiError {
    const body = Buffer.concat(pieces).toString('utf8');
    if (status >= 300)
      return translateError({ status, contentType: options.contentType, body, retryAfter: options.retryAfter });
    return invalidAnswer('The upstream answered before it had the request.');
  }

  function translate(answered: ResponseContext): Buffer {
    const body = Buffer.concat(pieces);
    const response =
      kind === 'events' ? collect(body, answered, limits.maxSseEventBytes) : translateJson(body, answered);
    const events = answered.stream ? eventsOfResponse(response, answered) : [];
    report = { ...reportOf(response), events: events.length };
    return accept(
      answered.stream ? Buffer.concat([encodeSseEvents(events), DONE]) : Buffer.from(JSON.stringify(response)),
    );
  }

  return {
    push(bytes) {
      if (verdict !== null) return nothing;
      size += bytes.length;
      if (size <= limit) pieces.push(bytes);
      else if (kind === 'error') pieces.push(bytes.subarray(0, Math.max(0, limit - size + bytes.length)));
      else return refuse(tooLarge(limit));
      return kind === 'neither' ? refuse(invalidAnswer(notAnApi)) : nothing;
    },
    end() {
      if (verdict !== null) return nothing;
      try {
        if (kind === 'error' || context === null) return refuse(errorAnswer());
        if (kind === 'neither') return refuse(invalidAnswer(size === 0 ? empty : notAnApi));
        return translate(context);
      } catch (thrown) {
        return refuse(ApiError.from(thrown));
      }
    },
    fail: (error) => (verdict === null ? refuse(error) : nothing),
    get verdict() {
      return verdict;
    },
    get complete() {
      return verdict !== null;
    },
    finishing: false,
    get report() {
      return report;
    },
  };
}

const notAnApi = 'The upstream’s answer is neither JSON nor an event stream.';
const empty = 'The upstream’s answer is empty.';

function translateJson(body: Buffer, context: ResponseContext): ResponseResource {
  const text = body.toString('utf8').replace(/^\ufeff/, '');
  if (text.trim() === '') throw invalidAnswer(empty);
  let completion: unknown;
  try {
    completion = JSON.parse(text);
  } catch (cause) {
    throw invalidAnswer('The upstream’s answer is not valid JSON.', cause);
  }
  return translateCompletion(completion, context);
}

/** An event stream that answers a plain request: what its terminal event holds is the answer. Throws `ApiError`. */
function collect(body: Buffer, context: ResponseContext, maxEventBytes: number): ResponseResource {
  const decoder = createSseDecoder({ maxEventBytes });
  const translator = createStreamTranslator(context);
  const events = [];
  for (const message of [...decoder.push(body), ...decoder.finish()]) {
    if (message.type === 'comment' || translator.ended) continue;
    const data = readSseData(message.data);
    if (data.type === 'malformed') events.push(...translator.malformed());
    else if (data.type === 'done') events.push(...translator.finish('done'));
    else for (const value of data.values) events.push(...translator.push(value, message.event ?? undefined));
  }
  events.push(...translator.finish('eof'));
  if (translator.failure !== null) throw translator.failure;
  const last = events.findLast((event) => 'response' in event);
  if (last === undefined) throw invalidAnswer(empty);
  return last.response;
}

function reportOf(response: ResponseResource): AnswerReport {
  const { status, model, usage } = response;
  return { error: null, status, model, usage, finishReason: response.incomplete_details?.reason ?? null, events: 0 };
}

/** A 200 whose body is not an answer. */
export function invalidAnswer(message: string, cause?: unknown): ApiError {
  return new ApiError(message, { status: 502, type: 'server_error', code: 'invalid_upstream_response', cause });
}

function tooLarge(limit: number): ApiError {
  return new ApiError(`The upstream’s answer is larger than ${limit} bytes.`, {
    status: 502,
    type: 'server_error',
    code: 'upstream_response_too_large',
  });
}
