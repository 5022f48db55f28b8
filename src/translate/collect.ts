import type { ApiError } from '../schema/api-error.ts';
import type { ResponseResource } from '../schema/response-resource.ts';
import type { ResponseStreamEvent } from '../schema/stream-events.ts';
import type { ResponseContext } from './context.ts';
import { createStreamTranslator } from './stream.ts';

/** Gathers a stream of chunks into the one response that a client without `stream: true` asked for (mapping E7). */
export interface StreamCollector {
  push(chunk: unknown, eventName?: string | null): void;
  /** Data that is not JSON. */
  malformed(): void;
  finish(reason: 'done' | 'eof'): void;
  fail(error: ApiError): void;
  readonly ended: boolean;
  readonly finishSeen: boolean;
  /** Set when the stream failed: the client gets this error with its HTTP status, since nothing was sent yet. */
  readonly failure: ApiError | null;
  /** Set once the stream has ended. */
  readonly response: ResponseResource | null;
}

/** A collector for one answer. */
export function createStreamCollector(context: ResponseContext): StreamCollector {
  const translator = createStreamTranslator(context);
  let response: ResponseResource | null = null;

  function take(events: readonly ResponseStreamEvent[]): void {
    const last = events.at(-1);
    if (translator.ended && last !== undefined && 'response' in last) response = last.response;
  }

  return {
    push: (chunk, eventName) => take(translator.push(chunk, eventName)),
    malformed: () => take(translator.malformed()),
    finish: (reason) => take(translator.finish(reason)),
    fail: (error) => take(translator.fail(error)),
    get ended() {
      return translator.ended;
    },
    get finishSeen() {
      return translator.finishSeen;
    },
    get failure() {
      return translator.failure;
    },
    get response() {
      return response;
    },
  };
}
