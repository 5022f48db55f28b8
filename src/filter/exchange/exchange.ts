import type { NewId } from '../translate/shared/context.ts';
import type { ApiError } from '../wire/schema/api-error.ts';
import { type ExchangeOptions, type ExchangeTap, tapped } from './options.ts';
import { RequestLeg } from './request/request-leg.ts';
import { ResponseLeg } from './response/response-leg.ts';
import { runSteps, type Schedule, type Steps } from './steps.ts';
import {
  billedFactsOf,
  type ExchangeReports,
  type ExchangeSummary,
  nextUpdateAfter,
  summaryOf,
  usageMetadataOf,
  withMetadata,
} from './summary.ts';
import { type ExchangeEvent, type Hold, isRequestEvent, type Replies } from './types.ts';

/** One HTTP request and its response: Envoy's messages in, the replies to them out. No clock, no sockets. */
export class Exchange {
  readonly #options: ExchangeOptions;
  readonly #tap: ExchangeTap | undefined;
  readonly #requestLeg: RequestLeg;
  readonly #responseLeg: ResponseLeg;
  /** An immediate response ends the exchange: messages already in flight when it was sent get no reply. */
  #closed = false;
  /** The state that Envoy's metadata shows so far: nothing, that the request was sent upstream, or how the answer ended. */
  #metadataSent: 'nothing' | 'begin' | 'end' = 'nothing';
  /** Output tokens at which Envoy is told again. */
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
    this.#requestLeg = new RequestLeg({ ...options, clock, hold: this.#holdOf('request') });
    this.#responseLeg = new ResponseLeg(
      { ...options, hold: this.#holdOf('response') },
      () => this.#requestLeg.report().facts.requestId,
    );
  }

  /** Tells what both legs hold as one number. */
  #holdOf(leg: 'request' | 'response'): Hold {
    return (bytes, body) => {
      this.#held[leg] = bytes;
      return this.#options.hold(this.#held.request + this.#held.response, body);
    };
  }

  /** The replies to one message, all taken before the next. Throws `ProtocolError` for one that may not come now. */
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

  /**
   * Replies in steps to the end of a large request body, or to a long or compressed piece of an answer. `refusal` is asked at the first
   * of a request, which may have waited.
   */
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
   * The replies that are due because time has passed: heartbeats, timeouts. `at` is in milliseconds of any monotonic
   * clock; call it about once a second. `blocked` is true while nothing is taken from the proxy, because it does not read or
   * something of this exchange waits: such silence is neither side's, no timer counts it, and there are no replies.
   */
  tick(at: number, blocked = false): Replies {
    return this.#closed ? [] : this.#checked(this.#responseLeg.tick(at, blocked), null);
  }

  /**
   * Ends the answer with this error in few bytes, for want of memory. Null where the call has to end instead, as it has where the client
   * reads nothing (`isRead`): then the exchange has failed with this error.
   */
  shed(error: ApiError, isRead = true): Replies | null {
    const replies = this.#closed || !isRead ? null : this.#responseLeg.shed(error);
    if (replies !== null) return this.#checked(replies, null);
    this.#cutBy = error;
    return null;
  }

  summary(): ExchangeSummary {
    return summaryOf(this.#reports());
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

  /** The first delta of a stream is in a reply that was given: text, reasoning or arguments. */
  hasToken(): boolean {
    return this.#responseLeg.answer()?.hasToken === true;
  }

  #checked(given: Replies, event: ExchangeEvent | null): Replies {
    const replies = this.#tap === undefined ? given : tapped(this.#tap, given, event);
    if (Array.isArray(replies)) {
      if (replies.length === 0) return replies;
      for (const reply of replies) this.#closed ||= reply.type === 'immediate_response';
    }
    return this.#isDue() ? withMetadata(replies, usageMetadataOf(billedFactsOf(this.#reports()))) : replies;
  }

  /**
   * Do these replies carry metadata? Yes with the request for the upstream, since tokens cost from then on; at times while
   * the output grows; and once when the answer is complete. Not at the end of the body, since a client that has read
   * `[DONE]` may be gone by then.
   */
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
