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
 * The outcome of an exchange:
 *
 * - `open`: not finished; a call that ends in this state was aborted.
 * - `passed`: not a request for this service, nothing was changed.
 * - `refused`: this service sent the response. The upstream was not called, but in `STREAMED` it may have had the headers.
 * - `local_reply`: Envoy answered by itself, for a reason that is not the upstream's: a rate limit, authentication.
 * - `upstream_error`: the client was sent an HTTP error for what the upstream did.
 * - `completed`, `incomplete`, `failed`: the Response's own status; without an `upstreamStatus`, this service made the Response. A call that
 *   was cut for want of memory has `failed`.
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

/** The counts of a Response's `usage` in one object, with the names that access logs and the inspector have. */
export type TokenCounts = Omit<Usage, `${string}_details`> &
  Usage['input_tokens_details'] &
  Usage['output_tokens_details'];

/** Estimated counts, while the upstream has sent none; no Response's `usage` has them. */
export type EstimatedTokens = Pick<TokenCounts, 'input_tokens' | 'output_tokens' | 'total_tokens'>;

/** What may be recorded of an exchange: sizes and names, never content. */
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
  /** Sampling parameters; null for the API's defaults. */
  readonly parameters: {
    readonly temperature: number | null;
    readonly topP: number | null;
    readonly maxOutputTokens: number | null;
  };
  /** The status sent to the client; null until then. */
  readonly status: number | null;
  readonly errorCode: string | null;
  /** The exception behind an error of this service's own, for the log only. */
  readonly errorCause: unknown;
  /** Null where the upstream reported no usage. */
  readonly tokens: TokenCounts | null;
  /** Null where the upstream reported usage, and where nothing is to be paid. */
  readonly estimate: EstimatedTokens | null;
  /** The names in `x-responses-dropped`, not shortened. */
  readonly dropped: readonly string[];
  /** The types in the request, and the events and fields of the answer, that this version does not know. */
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

/** The facts that Envoy gets while an exchange runs, for budgets and access logs. */
export type BilledFacts = Pick<ExchangeSummary, 'outcome' | 'model' | 'upstreamModel' | 'tokens' | 'estimate'>;

export function gatherBilledFacts(reports: ExchangeReports): BilledFacts {
  const { requestOutcome, response, cutBy } = reports;
  const { usage } = response;
  const own = decideOutcome(reports);
  const outcome = own === 'open' && cutBy !== null ? 'failed' : own;
  return {
    outcome,
    model: 'context' in requestOutcome ? requestOutcome.context.echo.model : null,
    upstreamModel: response.model,
    tokens: usage === null ? null : countTokens(usage),
    estimate:
      usage === null && costs(outcome) && !(response.error !== null && isToldInStream(response.error))
        ? estimateTokens(reports)
        : null,
  };
}

export function summarize(reports: ExchangeReports): ExchangeSummary {
  const { modes, profile, request, requestOutcome, response, responseId, cutBy } = reports;
  const { outcome, model, upstreamModel, tokens, estimate } = gatherBilledFacts(reports);
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
    parameters: readParameters(translated?.context.echo),
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

function decideOutcome({ request, requestOutcome, response, responsePhase }: ExchangeReports): ExchangeOutcome {
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

/** Reads the parameters that the client has chosen: the echo has the API's defaults for the others. */
function readParameters(echo: CreateResponseEcho | undefined): ExchangeSummary['parameters'] {
  const set = (value: number | undefined) => (value === undefined || value === 1 ? null : value);
  return {
    temperature: set(echo?.temperature),
    topP: set(echo?.top_p),
    maxOutputTokens: echo?.max_output_tokens ?? null,
  };
}

/** Copies field by field: of a rest and several spreads, V8 would make a dictionary, for each answer. */
function countTokens(usage: Usage): TokenCounts {
  return {
    input_tokens: usage.input_tokens,
    output_tokens: usage.output_tokens,
    total_tokens: usage.total_tokens,
    cached_tokens: usage.input_tokens_details.cached_tokens,
    cache_write_tokens: usage.input_tokens_details.cache_write_tokens,
    reasoning_tokens: usage.output_tokens_details.reasoning_tokens,
  };
}

/** Are tokens to be paid? HTTP errors and requests that were not translated cost none. */
export function costs(outcome: ExchangeOutcome): boolean {
  return outcome === 'open' || outcome === 'completed' || outcome === 'incomplete' || outcome === 'failed';
}

function estimateTokens({ requestOutcome, response }: ExchangeReports): EstimatedTokens | null {
  const input = requestOutcome.type === 'translated' ? requestOutcome.inputTokens : null;
  if (input === null) return null;
  const output = response.outputTokens;
  return { input_tokens: input, output_tokens: output, total_tokens: input + output };
}

/** The most output tokens between two updates of the metadata: one takes 2 µs, a third of what a token takes. */
const tokensBetweenUpdates = 64;

/** Returns the number of output tokens at which the next update is due: 1, 4, 16 and 64, then every 64. */
export function nextUpdateAfter(outputTokens: number): number {
  return Math.min(4 * outputTokens, outputTokens + tokensBetweenUpdates);
}

/** Adds the metadata to the first reply. */
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

/** Writes the metadata for Envoy, which keeps the last value of each field: an open exchange is `aborted`, unless more metadata follows. */
export function writeUsageMetadata({ outcome, model, upstreamModel, tokens, estimate }: BilledFacts): UsageMetadata {
  const metadata: Record<string, string | number> = {
    ...writePaidTokens({ outcome, tokens, estimate }),
    outcome: outcome === 'open' ? 'aborted' : outcome,
  };
  // Names chosen by clients and upstreams may be of any length.
  if (model !== null) metadata['model'] = model.slice(0, 200);
  if (upstreamModel !== null) metadata['upstream_model'] = upstreamModel.slice(0, 200);
  return metadata;
}

/** Writes the tokens to pay for; zeros replace an estimate that was sent before. */
function writePaidTokens({ outcome, tokens, estimate }: Omit<BilledFacts, 'model' | 'upstreamModel'>): UsageMetadata {
  if (!costs(outcome)) return nothingToPay;
  if (tokens !== null) return { ...tokens, tokens_from: 'upstream' };
  return estimate === null ? {} : { ...estimate, tokens_from: 'estimate' };
}

const nothingToPay = { input_tokens: 0, output_tokens: 0, total_tokens: 0, tokens_from: 'none' };
