import { isToldInStream } from '../translate/chat-to-response/error.ts';
import type { Repair } from '../translate/shared/context.ts';
import type { UnknownType } from '../translate/shared/dropped.ts';
import type { ApiError } from '../wire/schema/api-error.ts';
import type { CreateResponseEcho, Usage } from '../wire/schema/response-resource.ts';
import type { RequestOutcome, ResponsePhase } from './phases.ts';
import type { HeaderFacts } from './request/request-headers.ts';
import type { RequestLegReport } from './request/request-leg.ts';
import type { ResponseLegReport } from './response/response-leg.ts';
import type { BodyModes, ExchangeReply, Replies, UsageMetadata } from './types.ts';

/**
 * - `open`: not finished; a call that ends in this state was aborted.
 * - `passed`: not a request for this service, nothing was changed.
 * - `refused`: this service sent the response. The upstream was not called, but in `STREAMED` it may have had the headers.
 * - `local_reply`: Envoy answered by itself, for a reason that is not the upstream's: a rate limit, authentication.
 * - `upstream_error`: the client was sent an HTTP error for what the upstream did.
 * - `completed`, `incomplete`, `failed`: the Response's own status. Without an upstream's status it was not asked. A call that was cut for
 *   want of memory has `failed`.
 */
export type ExchangeOutcome =
  | 'open'
  | 'passed'
  | 'refused'
  | 'local_reply'
  | 'upstream_error'
  | 'completed'
  | 'incomplete'
  | 'failed';

/** The counts of a Response's `usage`, those of its details beside their totals: access logs and the inspector have these names. */
export type TokenCounts = Omit<Usage, `${string}_details`> &
  Usage['input_tokens_details'] &
  Usage['output_tokens_details'];

/** An estimate, for as long as the upstream has not counted; no Response's `usage` has it. */
export type EstimatedTokens = Pick<TokenCounts, 'input_tokens' | 'output_tokens' | 'total_tokens'>;

/** Facts that may be recorded of an exchange: sizes and names, never content. The one home of each such fact. */
export interface ExchangeSummary
  extends HeaderFacts,
    Pick<RequestLegReport, 'asked'>,
    Pick<ResponseLegReport, 'upstreamStatus' | 'finishReason' | 'events'> {
  readonly outcome: ExchangeOutcome;
  readonly modes: BodyModes;
  readonly profile: string;
  /** The request's model; null until the request is read. */
  readonly model: string | null;
  readonly upstreamModel: string | null;
  readonly stream: boolean | null;
  readonly responseId: string | null;
  /** Sampling parameters; null where they are the API's defaults. */
  readonly parameters: {
    readonly temperature: number | null;
    readonly topP: number | null;
    readonly maxOutputTokens: number | null;
  };
  /** The status sent to the client; null until then. */
  readonly status: number | null;
  readonly errorCode: string | null;
  /** The underlying exception where an error came from our own code; for the log only. */
  readonly errorCause: unknown;
  /** Null where the upstream reported no usage. */
  readonly tokens: TokenCounts | null;
  /** Stands in for `tokens`; null where the upstream reported usage, and where nothing is to be paid. */
  readonly estimate: EstimatedTokens | null;
  /** Names of what was dropped from the request, as named in `x-responses-dropped`. */
  readonly dropped: readonly string[];
  /** Types in the request, and events and fields of the answer, that this version does not know. */
  readonly unknownTypes: readonly UnknownType[];
  readonly repairs: readonly Repair[];
  readonly bytes: {
    readonly requestIn: number;
    readonly requestOut: number;
    readonly responseIn: number;
    readonly responseOut: number;
  };
}

export interface ExchangeReports {
  readonly modes: BodyModes;
  readonly profile: string;
  readonly request: RequestLegReport;
  readonly requestOutcome: RequestOutcome;
  readonly response: ResponseLegReport;
  readonly responsePhase: ResponsePhase;
  readonly responseId: string | null;
  /** The error with which the call was cut while the exchange was open; null if it was not. */
  readonly cutBy: ApiError | null;
}

/** Facts that Envoy is told of an exchange while it runs, for budgets and access logs. */
export type BilledFacts = Pick<ExchangeSummary, 'outcome' | 'model' | 'upstreamModel' | 'tokens' | 'estimate'>;

/** Gathers the facts that Envoy is told, from reports that may still change. */
export function billedFactsOf(reports: ExchangeReports): BilledFacts {
  const { requestOutcome, response } = reports;
  const { usage } = response;
  const open = outcomeOf(reports);
  const outcome = open === 'open' && reports.cutBy !== null ? 'failed' : open;
  return {
    outcome,
    model: 'context' in requestOutcome ? requestOutcome.context.echo.model : null,
    upstreamModel: response.model,
    tokens: usage === null ? null : tokensOf(usage),
    estimate:
      usage === null && costs(outcome) && !(response.error !== null && isToldInStream(response.error))
        ? estimateOf(reports)
        : null,
  };
}

/** Gathers all that may be recorded of an exchange. */
export function summaryOf(reports: ExchangeReports): ExchangeSummary {
  const { modes, profile, request, requestOutcome, response, responseId, cutBy } = reports;
  const { outcome, model, upstreamModel, tokens, estimate } = billedFactsOf(reports);
  const error = request.error ?? response.error ?? (outcome === 'failed' ? cutBy : null);
  const translated = 'context' in requestOutcome ? requestOutcome : null;
  return {
    ...request.facts,
    asked: request.asked,
    outcome,
    modes,
    profile,
    model,
    upstreamModel,
    stream: translated?.context.stream ?? null,
    responseId,
    parameters: parametersOf(translated?.context.echo),
    status: request.error?.status ?? (requestOutcome.type === 'answered' ? 200 : response.clientStatus),
    upstreamStatus: response.upstreamStatus,
    errorCode: error?.code ?? null,
    errorCause: error?.cause,
    finishReason: response.finishReason,
    tokens,
    estimate,
    events: response.events,
    dropped: translated?.dropped ?? [],
    unknownTypes: [...(translated?.unknownTypes ?? []), ...response.unread],
    repairs: response.repairs,
    bytes: {
      requestIn: request.clientBytes,
      requestOut: request.upstreamBytes,
      responseIn: response.upstreamBytes,
      responseOut: response.clientBytes,
    },
  };
}

function outcomeOf({ request, requestOutcome, response, responsePhase }: ExchangeReports): ExchangeOutcome {
  const { error, status, clientStatus, responder } = response;
  if (request.error !== null) return 'refused';
  if (requestOutcome.type === 'answered') return 'completed';
  if (responder === 'proxy') return 'local_reply';
  if (requestOutcome.type === 'passed' && error === null)
    return responsePhase === 'awaiting_headers' ? 'open' : 'passed';
  if (responsePhase === 'awaiting_headers') return 'open';
  if (error !== null) return (clientStatus ?? 0) >= 300 ? 'upstream_error' : 'failed';
  return status === 'completed' || status === 'incomplete' || status === 'failed' ? status : 'open';
}

/** The echo has the API's defaults for fields that the request left out: the client did not ask for them. */
function parametersOf(echo: CreateResponseEcho | undefined): ExchangeSummary['parameters'] {
  const set = (value: number | undefined) => (value === undefined || value === 1 ? null : value);
  return {
    temperature: set(echo?.temperature),
    topP: set(echo?.top_p),
    maxOutputTokens: echo?.max_output_tokens ?? null,
  };
}

/** Field by field: of a rest of an object and several spreads V8 makes a dictionary, for each answer. */
function tokensOf(usage: Usage): TokenCounts {
  return {
    input_tokens: usage.input_tokens,
    output_tokens: usage.output_tokens,
    total_tokens: usage.total_tokens,
    cached_tokens: usage.input_tokens_details.cached_tokens,
    cache_write_tokens: usage.input_tokens_details.cache_write_tokens,
    reasoning_tokens: usage.output_tokens_details.reasoning_tokens,
  };
}

/** Whether tokens are to be paid: not for an HTTP error, nor for what was not translated. */
export function costs(outcome: ExchangeOutcome): boolean {
  return outcome === 'open' || outcome === 'completed' || outcome === 'incomplete' || outcome === 'failed';
}

function estimateOf({ requestOutcome, response }: ExchangeReports): EstimatedTokens | null {
  const input = requestOutcome.type === 'translated' ? requestOutcome.inputTokens : null;
  if (input === null) return null;
  const output = response.outputTokens;
  return { input_tokens: input, output_tokens: output, total_tokens: input + output };
}

/** The most output tokens between two updates: an update takes 2 µs, a third of what this service takes for a token. */
const tokensBetweenUpdates = 64;

/** The number of output tokens at which the next update is due: at 1, 4, 16 and 64, then at every 64. */
export function nextUpdateAfter(outputTokens: number): number {
  return Math.min(4 * outputTokens, outputTokens + tokensBetweenUpdates);
}

/** The replies, the first of them with the metadata. */
export function withMetadata(replies: Replies, metadata: UsageMetadata): Replies {
  if (!Array.isArray(replies)) return withMetadataOnFirst(replies, metadata);
  const [first, ...rest] = replies;
  return first === undefined ? replies : [{ ...first, metadata }, ...rest];
}

function* withMetadataOnFirst(
  replies: Generator<ExchangeReply, void>,
  metadata: UsageMetadata,
): Generator<ExchangeReply, void> {
  const { done, value } = replies.next();
  if (done) return;
  yield { ...value, metadata };
  yield* replies;
}

/**
 * The metadata for Envoy at this point of the exchange. Envoy keeps the last value of each field until the client's stream
 * ends; budgets and the access log see that value. So an exchange that is still open is called `aborted`, which it is
 * unless more metadata follows, and a field that was sent once is sent again.
 */
export function usageMetadataOf({ outcome, model, upstreamModel, tokens, estimate }: BilledFacts): UsageMetadata {
  const metadata: Record<string, string | number> = {
    ...paid({ outcome, tokens, estimate }),
    outcome: outcome === 'open' ? 'aborted' : outcome,
  };
  // Names chosen by clients and upstreams may be of any length.
  if (model !== null) metadata['model'] = model.slice(0, 200);
  if (upstreamModel !== null) metadata['upstream_model'] = upstreamModel.slice(0, 200);
  return metadata;
}

/** The tokens to pay for; zeros replace an estimate that was sent before. */
function paid({ outcome, tokens, estimate }: Omit<BilledFacts, 'model' | 'upstreamModel'>): UsageMetadata {
  if (!costs(outcome)) return nothingToPay;
  if (tokens !== null) return { ...tokens, tokens_from: 'upstream' };
  return estimate === null ? {} : { ...estimate, tokens_from: 'estimate' };
}

const nothingToPay = { input_tokens: 0, output_tokens: 0, total_tokens: 0, tokens_from: 'none' };
