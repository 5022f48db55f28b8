import type { ApiError } from '../schema/api-error.ts';
import type { CreateResponseEcho, Usage } from '../schema/response-resource.ts';
import type { NewId } from '../translate/context.ts';
import type { UnknownType } from '../translate/request/dropped.ts';
import type { TranslationSettings } from '../translate/settings.ts';
import { RequestLeg } from './request/request-leg.ts';
import { ResponseLeg } from './response/response-leg.ts';
import type { UpstreamBodyLimits } from './response/upstream-body-reader.ts';
import type { Steps } from './steps.ts';
import type { BodyModes, ExchangeEvent, ExchangeReply, RequestEvent, Reserve } from './types.ts';
import { withUsageMetadata } from './usage-metadata.ts';

export interface ExchangeOptions {
  readonly modes: BodyModes;
  readonly settings: TranslationSettings;
  readonly bodyLimits: UpstreamBodyLimits & { readonly maxRequestBytes: number };
  /** Template of the upstream's path (`{model}` is filled in); null takes the profile's. */
  readonly upstreamPath: string | null;
  /** Refuses every request that would be translated: overload, or a route with an unknown profile. */
  readonly refusal: ApiError | null;
  /** Reserves the memory that this exchange needs from now on; an error refuses the exchange. */
  readonly reserve: Reserve;
  /** Milliseconds; 0 turns the timer off. */
  readonly stallTimeoutMs: number;
  readonly heartbeatMs: number;
  /** Milliseconds an upstream may go on after the finish reason; with 0 the next tick ends it. */
  readonly finishGraceMs: number;
  /** Request header that is set from `prompt_cache_key`; null for none. */
  readonly sessionHeader: string | null;
  /** `now` in Unix seconds. */
  readonly clock: { now(): number; readonly newId: NewId };
}

/**
 * - `open`: not finished; a call that ends in this state was aborted.
 * - `passed`: not a request for this service, nothing was changed.
 * - `refused`: this service sent the response, the upstream was not called.
 * - `upstream_error`: the client was sent an HTTP error for what the upstream did.
 * - `completed`, `incomplete`, `failed`: the Response's own status.
 */
export type ExchangeOutcome = 'open' | 'passed' | 'refused' | 'upstream_error' | 'completed' | 'incomplete' | 'failed';

/** What logs and metrics may record of an exchange: sizes and names, never content. */
export interface ExchangeSummary {
  readonly outcome: ExchangeOutcome;
  readonly requestId: string | null;
  readonly method: string;
  readonly path: string;
  readonly modes: BodyModes;
  readonly profile: string;
  /** The request's model; null until the request is read. */
  readonly model: string | null;
  /** The model that the upstream names in its response. */
  readonly upstreamModel: string | null;
  readonly stream: boolean | null;
  /** Model and stream as the body says, also of a request that was refused. */
  readonly asked: { readonly model: string | null; readonly stream: boolean | null };
  /** The host the client asked, as `:authority` names it. */
  readonly authority: string | null;
  /** The id of the Response; null until there is one. */
  readonly responseId: string | null;
  /** Sampling parameters; null where they are the API's defaults. */
  readonly parameters: {
    readonly temperature: number | null;
    readonly topP: number | null;
    readonly maxOutputTokens: number | null;
  };
  /** The status sent to the client; null until then. */
  readonly status: number | null;
  readonly upstreamStatus: number | null;
  readonly errorCode: string | null;
  /** The underlying exception where an error came from our own code; for the log only. */
  readonly errorCause: unknown;
  readonly finishReason: string | null;
  readonly usage: Usage | null;
  readonly events: number;
  /** What was dropped from the request, as named in `x-responses-dropped`. */
  readonly dropped: readonly string[];
  /** Types of items, parts and tools in the request that this version does not know. */
  readonly unknownTypes: readonly UnknownType[];
  readonly bytes: {
    readonly requestIn: number;
    readonly requestOut: number;
    readonly responseIn: number;
    readonly responseOut: number;
  };
}

/** One HTTP request and its response: Envoy's messages in, the replies to them out. No clock, no sockets. */
export class Exchange {
  readonly #modes: BodyModes;
  readonly #settings: TranslationSettings;
  readonly #requestLeg: RequestLeg;
  readonly #responseLeg: ResponseLeg;
  /** An immediate response ends the exchange: messages already in flight when it was sent get no reply. */
  #closed = false;
  #usageSent = false;
  #responseId: string | null = null;

  constructor(options: ExchangeOptions) {
    const { modes, settings, bodyLimits, upstreamPath, refusal, reserve } = options;
    const clock: typeof options.clock = {
      now: options.clock.now,
      newId: (prefix) => {
        const id = options.clock.newId(prefix);
        if (prefix === 'resp') this.#responseId = id;
        return id;
      },
    };
    const { stallTimeoutMs, heartbeatMs, finishGraceMs, sessionHeader } = options;
    const { maxRequestBytes } = bodyLimits;
    this.#modes = modes;
    this.#settings = settings;
    this.#requestLeg = new RequestLeg({
      modes,
      settings,
      maxRequestBytes,
      upstreamPath,
      sessionHeader,
      refusal,
      reserve,
      clock,
    });
    this.#responseLeg = new ResponseLeg(
      { mode: modes.response, settings, limits: bodyLimits, reserve, stallTimeoutMs, heartbeatMs, finishGraceMs },
      () => this.#requestLeg.report().requestId,
    );
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
    const request = this.#requestLeg.report();
    const response = this.#responseLeg.report();
    const error = request.error ?? response.error;
    const requestOutcome = this.#requestLeg.outcome();
    const translated = requestOutcome.type === 'translated' ? requestOutcome : null;
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
      asked: request.asked,
      authority: request.authority,
      responseId: this.#responseId,
      parameters: parametersOf(translated?.context.echo),
      status: request.error?.status ?? response.clientStatus,
      upstreamStatus: response.upstreamStatus,
      errorCode: error?.code ?? null,
      errorCause: error?.cause,
      finishReason: response.finishReason,
      usage: response.usage,
      events: response.events,
      dropped: translated?.dropped ?? [],
      unknownTypes: translated?.unknownTypes ?? [],
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
    if (this.#usageSent || replies.length === 0 || !this.#responseLeg.isComplete()) return replies;
    // Not with the end of the body: a client that has read `[DONE]` may be gone by then.
    this.#usageSent = true;
    return withUsageMetadata(replies, this.summary());
  }

  #outcome(): ExchangeOutcome {
    const { error, status, clientStatus } = this.#responseLeg.report();
    const phase = this.#responseLeg.phase();
    if (this.#requestLeg.report().error !== null) return 'refused';
    if (this.#requestLeg.outcome().type === 'passed' && error === null)
      return phase === 'awaiting_headers' ? 'open' : 'passed';
    if (phase === 'awaiting_headers') return 'open';
    if (phase === 'passed') return 'passed';
    if (error !== null) return (clientStatus ?? 0) >= 300 ? 'upstream_error' : 'failed';
    return status === 'completed' || status === 'incomplete' || status === 'failed' ? status : 'open';
  }
}

/** The echo has the API's defaults where the request was silent: they are not what the client asked for. */
function parametersOf(echo: CreateResponseEcho | undefined): ExchangeSummary['parameters'] {
  const set = (value: number | undefined) => (value === undefined || value === 1 ? null : value);
  return {
    temperature: set(echo?.temperature),
    topP: set(echo?.top_p),
    maxOutputTokens: echo?.max_output_tokens ?? null,
  };
}

function isRequestEvent(event: ExchangeEvent): event is RequestEvent {
  return event.type !== 'response_body' && event.type !== 'response_headers' && event.type !== 'response_trailers';
}
