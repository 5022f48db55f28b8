import type { NewId } from '../translate/shared/context.ts';
import type { ApiError } from '../wire/schema/api-error.ts';
import { type ExchangeOptions, type ExchangeTap, tapped } from './options.ts';
import { RequestLeg } from './request/request-leg.ts';
import { ResponseLeg } from './response/response-leg.ts';
import {
  type ExchangeReports,
  type ExchangeSummary,
  gatherBilledFacts,
  nextUpdateAfter,
  summarize,
  withMetadata,
  writeUsageMetadata,
} from './summary.ts';
import { type ExchangeEvent, type Hold, isRequestEvent, type Replies, type Schedule, type Steps } from './types.ts';

/** Replies to Envoy's messages about one HTTP request and its response. It knows no clock and no sockets. */
export class Exchange {
  readonly #options: ExchangeOptions;
  readonly #tap: ExchangeTap | undefined;
  readonly #requestLeg: RequestLeg;
  readonly #responseLeg: ResponseLeg;
  /** An immediate response has ended the exchange: messages that were in flight get no reply. */
  #closed = false;
  /** The metadata that Envoy has so far: none, that the request was sent upstream (`begin`), or how the answer ended. */
  #metadataSent: 'nothing' | 'begin' | 'end' = 'nothing';
  /** The number of output tokens at which metadata is sent again. */
  #nextUpdate = 1;
  #responseId: string | null = null;
  readonly #held = { request: 0, response: 0 };
  #cutBy: ApiError | null = null;

  constructor(options: ExchangeOptions) {
    const newId: NewId = (prefix) => {
      const id = options.clock.newId(prefix);
      if (prefix === 'resp') this.#responseId = id;
      return id;
    };
    const clock = { now: options.clock.now, newId };
    this.#options = options;
    this.#tap = options.tap;
    this.#requestLeg = new RequestLeg({ ...options, clock, hold: this.#holdFor('request') });
    this.#responseLeg = new ResponseLeg(
      { ...options, hold: this.#holdFor('response') },
      () => this.#requestLeg.report().facts.requestId,
    );
  }

  #holdFor(leg: 'request' | 'response'): Hold {
    return (bytes, body) => {
      this.#held[leg] = bytes;
      return this.#options.hold(this.#held.request + this.#held.response, body);
    };
  }

  /** Returns the replies to one message, to be sent before the next is handled. Throws `ProtocolError` for a message that may not come now. */
  handle(event: ExchangeEvent): Replies {
    this.#tap?.onEvent(event);
    if (this.#closed) return [];
    if (isRequestEvent(event)) {
      const replies = this.#requestLeg.handle(event);
      return this.#checked(Array.isArray(replies) ? replies : runSteps(replies), event);
    }
    if (event.type === 'response_headers' && event.attributes !== undefined)
      this.#requestLeg.onAnswered(event.attributes);
    return this.#checked(this.#responseLeg.handle(event, this.#requestLeg.outcome), event);
  }

  /** Chooses how the message is handled, so that no other exchange waits long. */
  chooseSchedule(event: ExchangeEvent): Schedule {
    return isRequestEvent(event) ? this.#requestLeg.chooseSchedule(event) : this.#responseLeg.chooseSchedule(event);
  }

  /** Handles a large, long or compressed body in steps. `refusal` is asked in the first step of a request, which may have waited. */
  *handleInSteps(event: ExchangeEvent, refusal?: () => ApiError | null): Steps<Replies> {
    if (!isRequestEvent(event) && event.type !== 'response_body') return this.handle(event);
    this.#tap?.onEvent(event);
    if (this.#closed) return [];
    if (!isRequestEvent(event))
      return this.#checked(yield* this.#responseLeg.handleInSteps(event, this.#requestLeg.outcome), event);
    const replies = this.#requestLeg.handle(event, refusal);
    return this.#checked(Array.isArray(replies) ? replies : yield* replies, event);
  }

  /**
   * Returns the replies that are due because time has passed: heartbeats, timeouts. To be called about once a second; `at` is in milliseconds
   * of any monotonic clock. While nothing is read from Envoy (`blocked`), because it does not read either or a message waits, nothing is
   * due, and the time counts as nobody's silence.
   */
  tick(at: number, blocked = false): Replies {
    return this.#closed ? [] : this.#checked(this.#responseLeg.tick(at, blocked), null);
  }

  /** Ends the answer in few bytes, for want of memory. Null if the call has to end, as where nobody reads (`isRead`): the exchange has failed then. */
  shed(error: ApiError, isRead = true): Replies | null {
    const replies = this.#closed || !isRead ? null : this.#responseLeg.shed(error);
    if (replies !== null) return this.#checked(replies, null);
    this.#cutBy = error;
    return null;
  }

  summary(): ExchangeSummary {
    return summarize(this.#reports());
  }

  #reports(): ExchangeReports {
    return {
      modes: this.#options.modes,
      profile: this.#options.settings.profile.name,
      request: this.#requestLeg.report(),
      requestOutcome: this.#requestLeg.outcome,
      response: this.#responseLeg.report(),
      responsePhase: this.#responseLeg.phase(),
      responseId: this.#responseId,
      cutBy: this.#cutBy,
    };
  }

  /** Has a reply carried the first delta of a stream: text, reasoning or arguments? */
  hasToken(): boolean {
    return this.#responseLeg.answer()?.hasToken === true;
  }

  #checked(given: Replies, event: ExchangeEvent | null): Replies {
    const replies = this.#tap === undefined ? given : tapped(this.#tap, given, event);
    if (Array.isArray(replies)) {
      if (replies.length === 0) return replies;
      for (const reply of replies) this.#closed ||= reply.type === 'immediate_response';
    }
    return this.#isDue() ? withMetadata(replies, writeUsageMetadata(gatherBilledFacts(this.#reports()))) : replies;
  }

  /** Is metadata due: with the request for the upstream, as the output grows, or with the end of the answer, before a client may disconnect? */
  #isDue(): boolean {
    if (this.#metadataSent === 'end') return false;
    if (this.#responseLeg.isComplete()) {
      this.#metadataSent = 'end';
      return this.#requestLeg.outcome.type !== 'passed';
    }
    if (this.#metadataSent === 'nothing') {
      if (this.#requestLeg.outcome.type !== 'translated') return false;
      this.#metadataSent = 'begin';
      return true;
    }
    const tokens = this.#responseLeg.answer()?.outputTokens ?? 0;
    if (tokens < this.#nextUpdate) return false;
    this.#nextUpdate = nextUpdateAfter(tokens);
    return true;
  }
}

/** Takes all steps at once, and returns their result. Throws what a step throws. */
export function runSteps<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}
