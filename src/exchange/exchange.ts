import type { ExchangeOptions } from './options.ts';
import { RequestLeg } from './request/request-leg.ts';
import { ResponseLeg } from './response/response-leg.ts';
import type { Steps } from './steps.ts';
import { type ExchangeSummary, summaryOf, withUsageMetadata } from './summary.ts';
import type { ExchangeEvent, ExchangeReply, RequestEvent } from './types.ts';

/** One HTTP request and its response: Envoy's messages in, the replies to them out. No clock, no sockets. */
export class Exchange {
  readonly #options: ExchangeOptions;
  readonly #requestLeg: RequestLeg;
  readonly #responseLeg: ResponseLeg;
  /** An immediate response ends the exchange: messages already in flight when it was sent get no reply. */
  #closed = false;
  #usageSent = false;
  #responseId: string | null = null;

  constructor(options: ExchangeOptions) {
    const clock: typeof options.clock = {
      now: options.clock.now,
      newId: (prefix) => {
        const id = options.clock.newId(prefix);
        if (prefix === 'resp') this.#responseId = id;
        return id;
      },
    };
    this.#options = options;
    this.#requestLeg = new RequestLeg({ ...options, clock });
    this.#responseLeg = new ResponseLeg(options, () => this.#requestLeg.report().requestId);
  }

  /** The replies to one message of Envoy's, in order. Throws `ProtocolError` for a message that may not come now. */
  handle(event: ExchangeEvent): ExchangeReply[] {
    if (this.#closed) return [];
    return this.#checked(
      isRequestEvent(event)
        ? this.#requestLeg.handle(event)
        : this.#responseLeg.handle(event, this.#requestLeg.outcome()),
    );
  }

  /** Whether the message belongs to a body that is to be translated in steps. */
  isLarge(event: RequestEvent): boolean {
    return this.#requestLeg.isLarge(event);
  }

  /**
   * The same for the message that ends a large request body: its translation in steps, so that other exchanges run between
   * them. Until the last step this exchange takes no other message.
   */
  *handleInSteps(event: RequestEvent): Steps<ExchangeReply[]> {
    if (this.#closed) return [];
    return this.#checked(yield* this.#requestLeg.handleInSteps(event));
  }

  /**
   * The replies that are due because time has passed: heartbeats, timeouts. `at` is in milliseconds of any monotonic
   * clock; call it about once a second. `blocked` is true while reading from the proxy is paused because the proxy does
   * not read: such silence is neither side's, and no timer counts it.
   */
  tick(at: number, blocked = false): ExchangeReply[] {
    return this.#closed ? [] : this.#checked(this.#responseLeg.tick(at, blocked));
  }

  summary(): ExchangeSummary {
    return summaryOf({
      modes: this.#options.modes,
      profile: this.#options.settings.profile.name,
      request: this.#requestLeg.report(),
      requestOutcome: this.#requestLeg.outcome(),
      response: this.#responseLeg.report(),
      responsePhase: this.#responseLeg.phase(),
      responseId: this.#responseId,
    });
  }

  /** The first delta of a stream is in a reply that was given: text, reasoning or arguments. */
  hasToken(): boolean {
    return this.#responseLeg.hasToken();
  }

  #checked(replies: ExchangeReply[]): ExchangeReply[] {
    for (const reply of replies) this.#closed ||= reply.type === 'immediate_response';
    if (this.#usageSent || replies.length === 0 || !this.#responseLeg.isComplete()) return replies;
    // Not with the end of the body: a client that has read `[DONE]` may be gone by then.
    this.#usageSent = true;
    return withUsageMetadata(replies, this.summary());
  }
}

function isRequestEvent(event: ExchangeEvent): event is RequestEvent {
  return event.type !== 'response_body' && event.type !== 'response_headers' && event.type !== 'response_trailers';
}
