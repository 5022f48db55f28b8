import { type AnswerReport, nothingReported, type ResponseContext } from '../../translate/shared/context.ts';
import { ApiError } from '../../wire/schema/api-error.ts';
import type { ResponseStatus } from '../../wire/schema/response-resource.ts';
import type { ExchangeSettings } from '../options.ts';
import type { ClientBytes } from './delivery.ts';

/** Translates the bytes of the upstream's body to the client's; the leg decides when to send them, with which headers. */
export interface UpstreamBodyReader {
  /** Reads decompressed bytes, and returns the client's: whole events, or nothing yet. After the last, `end` is to be called. */
  push(bytes: Buffer, isLast?: boolean): ClientBytes;
  /** Begins the stream of a client that wants one, before the upstream has sent anything and before `isComplete`. */
  start(): ClientBytes;
  /** Ends the answer with the upstream's body or an error, and sets `decision`. With `isShed`, the output so far is freed and not repeated. */
  end(error?: ApiError, isShed?: boolean): ClientBytes;
  readonly state: Readonly<AnswerState>;
}

export const nothing = Buffer.alloc(0);

/** How far an answer is, and what its reader holds in memory; a reader keeps one object up to date. */
export class AnswerState {
  decision: BodyDecision = null;
  /** The client's body is complete, and the rest of the upstream's is ignored. */
  isComplete = false;
  /** The model has finished: only usage and the end may follow. */
  isFinishing = false;
  hasToken = false;
  bufferedBytes = 0;
  /** The buffered bytes belong to a body that is parsed once it is whole. */
  parsesWhole = true;
  /** The tokens of the output so far, as the upstream counts them or estimated. */
  outputTokens = 0;
  /** Reports on an answer that is translated as it arrives. A closure over the reader would keep each exchange until a full collection. */
  translator: { summary(): UpstreamBodyReport } | null = null;
  /** The report of an answer that is not translated as it arrives. */
  whole: UpstreamBodyReport = emptyReport;
}

/** What the client gets: a translation, the upstream's bytes `untouched`, or an error with an HTTP status, which may still come while it is null. */
export type BodyDecision = 'translated' | 'untouched' | ApiError | null;

export interface UpstreamBodyReport extends Omit<AnswerReport, 'status'> {
  readonly status: ResponseStatus | null;
  readonly events: number;
}

export interface UpstreamBodyOptions {
  readonly status: number;
  readonly contentType: string | null;
  readonly retryAfter: string | null;
  /** Null if the upstream has responded before the request was read. */
  readonly context: ResponseContext | null;
  /** The headers have been sent, so an error can only be in the body. */
  readonly committed: boolean;
  readonly mayReplaceStatus: boolean;
  readonly limits: Omit<ExchangeSettings['bodyLimits'], 'maxRequestBytes'>;
  /** Called for each message of an upstream's stream, with the number of the client's events that it became. */
  readonly onMessage?: ((events: number) => void) | undefined;
}

export const emptyReport: UpstreamBodyReport = { ...nothingReported, status: null, events: 0 };

/** The most JSON values that are parsed and translated in one step: with names of their own, 50,000 take up to 100 ms. */
export const maxValues = 50_000;
/** The most JSON values with logprobs, of which a token may have some 170; these take a quarter of the time of other values. */
const maxValuesOfLogprobs = 400_000;

/** Returns the most JSON values that an event, or an answer in JSON, may have. */
export function mostValuesFor({ wantsLogprobs }: Pick<ResponseContext, 'wantsLogprobs'>): number {
  return wantsLogprobs ? maxValuesOfLogprobs : maxValues;
}

export function tooLarge(what: 'a response' | 'an output', limit: number): ApiError {
  return ApiError.answerTooLarge(`The upstream sent ${what} larger than ${limit} bytes.`);
}

export function tooManyValues(what: 'a response' | 'an event', most: number): ApiError {
  return ApiError.answerTooLarge(`The upstream sent ${what} of more than ${most} values.`);
}
