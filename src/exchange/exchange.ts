import type { ApiError } from '../schema/api-error.ts';
import type { Usage } from '../schema/response-resource.ts';
import type { NewId } from '../translate/context.ts';
import type { TranslationSettings } from '../translate/settings.ts';
import { createRequestLeg, type RequestLeg } from './request/request-leg.ts';
import { createResponseLeg, type ResponseLeg } from './response/response-leg.ts';
import type { UpstreamBodyLimits } from './response/upstream-body-reader.ts';
import type { BodyModes, ExchangeEvent, ExchangeReply, RequestEvent } from './types.ts';

export interface ExchangeOptions {
  readonly modes: BodyModes;
  readonly settings: TranslationSettings;
  readonly bodyLimits: UpstreamBodyLimits & { readonly maxRequestBytes: number };
  /** Template of the upstream's path (`{model}` is filled in); null takes the profile's. */
  readonly upstreamPath: string | null;
  /** What every request is refused with that would be translated: overload, a route that names no known profile. */
  readonly refusal: ApiError | null;
  /** Told how many bytes of bodies the exchange keeps from now on; an error turns it away. */
  readonly reserve: (bytes: number) => ApiError | null;
  /** Milliseconds; 0 turns the timer off. */
  readonly stallTimeoutMs: number;
  readonly heartbeatMs: number;
  /** Milliseconds an upstream may go on after the finish reason; with 0 the next tick ends it. */
  readonly finishGraceMs: number;
  /** `now` in Unix seconds. */
  readonly clock: { now(): number; readonly newId: NewId };
}

/** One HTTP request and its response: Envoy's messages in, the replies to them out. No clock, no sockets. */
export interface Exchange {
  /** Throws `ProtocolError` for a message that may not come now. */
  handle(event: ExchangeEvent): ExchangeReply[];
  /**
   * What is to be said because of the time alone; `at` in milliseconds of any clock that only grows. Call it every second
   * or so. `blocked` while nothing is taken from the proxy because it takes nothing itself: that is nobody's silence.
   */
  tick(at: number, blocked?: boolean): ExchangeReply[];
  summary(): ExchangeSummary;
}

/**
 * - `open`: it is not over; a call that ends so was aborted.
 * - `passed`: not ours, nothing was changed.
 * - `refused`: answered by us, the upstream was not called.
 * - `upstream_error`: the client was sent an HTTP error for what the upstream did.
 * - `completed`, `incomplete`, `failed`: the Response's own status.
 */
export type ExchangeOutcome = 'open' | 'passed' | 'refused' | 'upstream_error' | 'completed' | 'incomplete' | 'failed';

/** What a log line or a metric may say of an exchange: sizes and names, nothing of its content. */
export interface ExchangeSummary {
  readonly outcome: ExchangeOutcome;
  readonly requestId: string | null;
  readonly method: string;
  readonly path: string;
  readonly modes: BodyModes;
  readonly profile: string;
  /** The request's model; null before it was read. */
  readonly model: string | null;
  /** The model the upstream says has answered. */
  readonly upstreamModel: string | null;
  readonly stream: boolean | null;
  /** The status the client was sent; null before. */
  readonly status: number | null;
  readonly upstreamStatus: number | null;
  readonly errorCode: string | null;
  /** What was thrown where an error is ours; for the log alone. */
  readonly errorCause: unknown;
  readonly finishReason: string | null;
  readonly usage: Usage | null;
  readonly events: number;
  /** What was left out of the request, as `x-responses-dropped` names it. */
  readonly dropped: readonly string[];
  readonly bytes: {
    readonly requestIn: number;
    readonly requestOut: number;
    readonly responseIn: number;
    readonly responseOut: number;
  };
}

/** An exchange for one call of Envoy. */
export function createExchange(options: ExchangeOptions): Exchange {
  return new TwoLegs(options);
}

class TwoLegs implements Exchange {
  readonly #modes: BodyModes;
  readonly #settings: TranslationSettings;
  readonly #requestLeg: RequestLeg;
  readonly #responseLeg: ResponseLeg;
  /** An immediate response is the last word: what was under way when it left needs no answer. */
  #closed = false;

  constructor(options: ExchangeOptions) {
    const { modes, settings, bodyLimits, upstreamPath, refusal, reserve, clock } = options;
    const { stallTimeoutMs, heartbeatMs, finishGraceMs } = options;
    const { maxRequestBytes } = bodyLimits;
    this.#modes = modes;
    this.#settings = settings;
    this.#requestLeg = createRequestLeg({ modes, settings, maxRequestBytes, upstreamPath, refusal, reserve, clock });
    this.#responseLeg = createResponseLeg(
      { mode: modes.response, limits: bodyLimits, reserve, stallTimeoutMs, heartbeatMs, finishGraceMs },
      () => this.#requestLeg.report().requestId,
    );
  }

  handle(event: ExchangeEvent): ExchangeReply[] {
    if (this.#closed) return [];
    return this.#checked(
      isRequestEvent(event)
        ? this.#requestLeg.handle(event)
        : this.#responseLeg.handle(event, this.#requestLeg.outcome()),
    );
  }

  tick(at: number, blocked = false): ExchangeReply[] {
    return this.#closed ? [] : this.#checked(this.#responseLeg.tick(at, blocked));
  }

  summary(): ExchangeSummary {
    const request = this.#requestLeg.report();
    const response = this.#responseLeg.report();
    const error = request.error ?? response.error;
    const asked = this.#requestLeg.outcome();
    const translated = asked.type === 'translated' ? asked : null;
    return {
      outcome: this.#outcome(),
      requestId: request.requestId,
      method: request.method,
      path: request.path,
      modes: this.#modes,
      profile: this.#settings.profile.name,
      model: translated?.context.echo.model ?? null,
      upstreamModel: response.model,
      stream: translated?.context.stream ?? null,
      status: request.error?.status ?? response.clientStatus,
      upstreamStatus: response.upstreamStatus,
      errorCode: error?.code ?? null,
      errorCause: error?.cause,
      finishReason: response.finishReason,
      usage: response.usage,
      events: response.events,
      dropped: translated?.dropped ?? [],
      bytes: {
        requestIn: request.clientBytes,
        requestOut: request.upstreamBytes,
        responseIn: response.upstreamBytes,
        responseOut: response.clientBytes,
      },
    };
  }

  #checked(replies: ExchangeReply[]): ExchangeReply[] {
    for (const reply of replies) this.#closed ||= reply.type === 'immediate_response';
    return replies;
  }

  #outcome(): ExchangeOutcome {
    const { error, status, clientStatus } = this.#responseLeg.report();
    const phase = this.#responseLeg.phase();
    if (this.#requestLeg.report().error !== null) return 'refused';
    if (this.#requestLeg.outcome().type === 'passed') return phase === 'awaiting_headers' ? 'open' : 'passed';
    if (phase === 'awaiting_headers') return 'open';
    if (phase === 'passed') return 'passed';
    if (error !== null) return (clientStatus ?? 0) >= 300 ? 'upstream_error' : 'failed';
    return status === 'completed' || status === 'incomplete' || status === 'failed' ? status : 'open';
  }
}

function isRequestEvent(event: ExchangeEvent): event is RequestEvent {
  return event.type !== 'response_body' && event.type !== 'response_headers' && event.type !== 'response_trailers';
}
