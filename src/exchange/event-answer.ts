import { ApiError } from '../schema/api-error.ts';
import type { ResponseStreamEvent } from '../schema/stream-events.ts';
import { readSseData } from '../sse/data.ts';
import { createSseDecoder, type SseMessage } from '../sse/decode.ts';
import { DONE, encodeSseEvents, KEEPALIVE } from '../sse/encode.ts';
import type { ResponseContext } from '../translate/context.ts';
import { createStreamTranslator } from '../translate/stream.ts';
import type { Answer, AnswerOptions } from './answer.ts';

const nothing = Buffer.alloc(0);

/**
 * An event stream for a client that asked for one. Nothing is said before the upstream's first event is read: an error
 * that comes first becomes an HTTP status while the headers can still carry it.
 */
export function createEventAnswer(context: ResponseContext, { committed, limits }: AnswerOptions): Answer {
  const decoder = createSseDecoder({ maxEventBytes: limits.maxSseEventBytes });
  const translator = createStreamTranslator(context);
  let verdict: Answer['verdict'] = committed ? 'accepted' : null;
  let said = false;

  /** Says these events, or turns a failure that would be the first word into a verdict. */
  function say(events: readonly ResponseStreamEvent[], keepalive: boolean): Buffer {
    if (verdict === null && translator.failure !== null) verdict = translator.failure;
    if (verdict instanceof ApiError) return nothing;
    if (events.length === 0 && !keepalive) return nothing;
    verdict = 'accepted';
    const pieces = [encodeSseEvents(events)];
    if (translator.ended && !said) {
      said = true;
      pieces.push(DONE);
    } else if (keepalive) pieces.push(KEEPALIVE);
    return pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces);
  }

  function read(messages: readonly SseMessage[]): Buffer {
    let events: ResponseStreamEvent[] = [];
    let comments = false;
    for (const message of messages) {
      if (translator.ended) break;
      if (message.type === 'comment') {
        comments = true;
        // The upstream is at work: the client may know.
        if (verdict === null) events = events.concat(translator.start());
      } else events = events.concat(translate(message));
      // The first event decides alone, whatever else arrived with it.
      if (verdict === null && translator.failure !== null) return say([], false);
      if (events.length > 0) verdict = 'accepted';
    }
    return say(events, comments && events.length === 0);
  }

  function translate(message: Extract<SseMessage, { type: 'event' }>): ResponseStreamEvent[] {
    const data = readSseData(message.data);
    switch (data.type) {
      case 'values':
        return data.values.flatMap((value) => translator.push(value, message.event ?? undefined));
      case 'done':
        return translator.finish('done');
      case 'malformed':
        return translator.malformed();
    }
  }

  function fail(error: ApiError): Buffer {
    return translator.ended ? nothing : say(translator.fail(error), false);
  }

  return {
    push(bytes) {
      if (translator.ended) return nothing;
      let out: Buffer;
      try {
        out = read(decoder.push(bytes));
      } catch (thrown) {
        return fail(failureOf(thrown));
      }
      // Where only an upstream's message can be answered, the last one may be the trailers, which carry no text.
      if (committed && !translator.ended && translator.finishSeen && translator.usage !== null)
        return Buffer.concat([out, say(translator.finish('done'), false)]);
      return out;
    },
    end() {
      if (translator.ended) return nothing;
      try {
        const out = read(decoder.finish());
        return translator.ended ? out : Buffer.concat([out, say(translator.finish('eof'), false)]);
      } catch (thrown) {
        return fail(failureOf(thrown));
      }
    },
    fail,
    get verdict() {
      return verdict;
    },
    get complete() {
      return translator.ended;
    },
    get finishing() {
      return translator.finishSeen;
    },
    get report() {
      const { summary, failure, usage } = translator;
      return {
        error: failure,
        usage,
        status: summary.status,
        model: summary.model,
        finishReason: summary.finishReason,
        events: summary.events,
      };
    },
  };
}

function failureOf(thrown: unknown): ApiError {
  if (!(thrown instanceof Error) || thrown.name !== 'SseLimitError') return ApiError.from(thrown);
  return new ApiError('An event of the upstream is too large.', {
    status: 502,
    type: 'server_error',
    code: 'upstream_event_too_large',
    cause: thrown,
  });
}
