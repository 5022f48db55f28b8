import { ApiError } from '../schema/api-error.ts';
import type { ResponseStreamEvent } from '../schema/stream-events.ts';
import { readSseData } from '../sse/data.ts';
import { createSseDecoder, SseLimitError, type SseMessage } from '../sse/decode.ts';
import { DONE, encodeSseEvents, KEEPALIVE } from '../sse/encode.ts';
import type { ResponseContext } from '../translate/context.ts';
import { createStreamTranslator } from '../translate/stream.ts';
import type { Answer, AnswerOptions, Verdict } from './answer.ts';
import { tooLarge } from './upstream-errors.ts';

const nothing = Buffer.alloc(0);

/**
 * Reads an event stream. A client that asked for one hears each event as it comes, but nothing before the first is read:
 * an error that comes first becomes an HTTP status while the headers can still carry it. A client that asked for JSON
 * gets what the terminal event holds.
 */
export function createEventAnswer(context: ResponseContext, { committed, limits }: AnswerOptions): Answer {
  const decoder = createSseDecoder({ maxEventBytes: limits.maxSseEventBytes });
  const translator = createStreamTranslator(context);
  let verdict: Verdict = committed ? 'accepted' : null;

  /** What the client gets for these events. The terminal one is only ever in one call of it. */
  function say(events: readonly ResponseStreamEvent[], keepalive = false): Buffer {
    if (verdict === null && translator.failure() !== null) verdict = translator.failure();
    if (verdict instanceof ApiError) return nothing;
    if (!context.stream) return sayWhole(events.at(-1));
    if (events.length === 0) return keepalive ? KEEPALIVE : nothing;
    verdict = 'accepted';
    const bytes = encodeSseEvents(events);
    return translator.ended() ? Buffer.concat([bytes, DONE]) : bytes;
  }

  function sayWhole(last: ResponseStreamEvent | undefined): Buffer {
    if (!translator.ended() || last === undefined || !('response' in last)) return nothing;
    verdict = 'accepted';
    return Buffer.from(JSON.stringify(last.response));
  }

  function read(messages: readonly SseMessage[]): Buffer {
    let events: ResponseStreamEvent[] = [];
    let comments = false;
    for (const message of messages) {
      if (translator.ended()) break;
      if (message.type === 'event') events = joined(events, translate(message));
      // A comment says that the upstream is at work: the client may know.
      else if (verdict === null) events = joined(events, translator.start());
      else comments = true;
      // The first message decides alone, however the bytes were cut.
      if (verdict === null && translator.failure() === null && context.stream && events.length > 0)
        verdict = 'accepted';
    }
    return say(events, comments);
  }

  function translate({ event, data: text }: Extract<SseMessage, { type: 'event' }>): ResponseStreamEvent[] {
    const known = event === null ? translator.pushText(text) : null;
    if (known !== null) return known;
    const data = readSseData(text);
    switch (data.type) {
      case 'values': {
        if (data.values.length === 1 && !data.done) return translator.push(data.values[0], event, text);
        let events: ResponseStreamEvent[] = [];
        for (const value of data.values) events = joined(events, translator.push(value, event));
        return data.done ? joined(events, translator.finish('done')) : events;
      }
      case 'malformed':
        return translator.malformed();
    }
  }

  function fail(error: ApiError): Buffer {
    return translator.ended() ? nothing : say(translator.fail(error));
  }

  function failBy(thrown: unknown): Buffer {
    return fail(
      thrown instanceof SseLimitError ? tooLarge('an event', limits.maxSseEventBytes) : ApiError.from(thrown),
    );
  }

  return {
    push(bytes) {
      if (translator.ended()) return nothing;
      try {
        const out = read(decoder.push(bytes));
        // The terminal event repeats the whole output, so all of it is kept; the chunks around it are not.
        if (translator.written() > limits.maxResponseBytes && !translator.ended())
          return Buffer.concat([out, fail(tooLarge('an output', limits.maxResponseBytes))]);
        if (!committed || translator.ended() || !translator.finishSeen() || translator.usage() === null) return out;
        // Where only a message of the upstream can be answered, the next may be trailers, which carry no text.
        return Buffer.concat([out, say(translator.finish('done'))]);
      } catch (thrown) {
        return failBy(thrown);
      }
    },
    start: () => (translator.ended() || !context.stream ? nothing : say(translator.start())),
    end() {
      if (translator.ended()) return nothing;
      try {
        const out = read(decoder.finish());
        return translator.ended() ? out : Buffer.concat([out, say(translator.finish('eof'))]);
      } catch (thrown) {
        return failBy(thrown);
      }
    },
    fail,
    verdict() {
      return verdict;
    },
    complete() {
      return translator.ended();
    },
    finishing() {
      return translator.finishSeen();
    },
    held() {
      return decoder.pending() + translator.written();
    },
    report() {
      const { status, model, finishReason, events } = translator.summary();
      return { error: translator.failure(), usage: translator.usage(), status, model, finishReason, events };
    },
  };
}

/** Both lists in order; nearly always one is empty, and the other is not copied. */
function joined(events: ResponseStreamEvent[], more: ResponseStreamEvent[]): ResponseStreamEvent[] {
  if (events.length === 0) return more;
  for (const event of more) events.push(event);
  return events;
}
