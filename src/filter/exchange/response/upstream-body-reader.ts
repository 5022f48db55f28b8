import { type AnswerReport, nothingReported, type ResponseContext } from '../../translate/shared/context.ts';
import { ApiError } from '../../wire/schema/api-error.ts';
import type { ResponseStatus } from '../../wire/schema/response-resource.ts';
import type { ExchangeSettings } from '../options.ts';
import type { ClientBytes } from './delivery.ts';

/** Makes the client's body from the upstream's, bytes from bytes; the leg decides when to send, with what headers. */
export interface UpstreamBodyReader {
  /** Decompressed bytes of the upstream's body in, the client's bytes out: whole events, or nothing yet. After the last, `end` follows. */
  push(bytes: Buffer, isLast?: boolean): ClientBytes;
  /** Begins the client's stream before the upstream has sent anything; only for a client that wants one, and before `isComplete`. */
  start(): ClientBytes;
  /**
   * Ends with the body, or by an error of ours; then `decision` is set. With `isShed`, in few bytes: what was kept of the answer is
   * freed, and not repeated.
   */
  end(error?: ApiError, isShed?: boolean): ClientBytes;
  /** One object as long as the reader lives. */
  readonly state: Readonly<AnswerState>;
}

/** No bytes for the client yet. */
export const nothing = Buffer.alloc(0);

/** What the leg asks after each call of the reader: how far the answer is, and what it holds in memory. */
export class AnswerState {
  decision: BodyDecision = null;
  /** The client's body is complete; the rest of the upstream's is ignored. */
  isComplete = false;
  /** The model has finished: only usage and the end may follow. */
  isFinishing = false;
  /** The bytes returned so far include a delta of a stream. */
  hasToken = false;
  /** Bytes that stay in memory until more arrive, or until the answer ends. */
  bufferedBytes = 0;
  /** Whether the buffered bytes belong to a body that is parsed once it is whole. */
  parsesWhole = true;
  /** Tokens of the output so far, as the upstream counts them or estimated. */
  outputTokens = 0;
  /**
   * Reports on an answer that is translated as it arrives. Not a function that closes over its reader: with one, V8
   * kept each exchange until a full collection.
   */
  translator: { summary(): UpstreamBodyReport } | null = null;
  /** The report of an answer that is not translated as it arrives. */
  whole: UpstreamBodyReport = emptyReport;
}

/**
 * Null while the answer may still become an error with an HTTP status; then finally that error, `translated`, or `untouched`:
 * the client gets the upstream's own bytes, and so its headers.
 */
export type BodyDecision = 'translated' | 'untouched' | ApiError | null;

/** The outcome of the response, for the log. */
export interface UpstreamBodyReport extends Omit<AnswerReport, 'status'> {
  /** Null if there is no Response. */
  readonly status: ResponseStatus | null;
  readonly events: number;
}

export interface UpstreamBodyOptions {
  readonly status: number;
  readonly contentType: string | null;
  readonly retryAfter: string | null;
  /** Null when the upstream responded before the request was read. */
  readonly context: ResponseContext | null;
  /** The headers have been sent: an error can only be reported in the body. */
  readonly committed: boolean;
  /** The status can still be changed. */
  readonly mayReplaceStatus: boolean;
  /** Bytes after decompression. */
  readonly limits: Omit<ExchangeSettings['bodyLimits'], 'maxRequestBytes'>;
  /** Told of each message of an upstream's stream how many of the client's events it became. */
  readonly onMessage?: ((events: number) => void) | undefined;
}

export const emptyReport: UpstreamBodyReport = { ...nothingReported, status: null, events: 0 };

/** JSON values that are parsed and translated in one step: with names of their own, 50,000 take up to 100 ms. */
export const maxValues = 50_000;
/** Tokens with the most alternatives have some 170 values each; they take a quarter of the time of others. */
const maxValuesOfLogprobs = 400_000;

/** How many JSON values an event, or an answer in JSON, may have: more where the request asked for logprobs. */
export function mostValuesFor({ wantsLogprobs }: Pick<ResponseContext, 'wantsLogprobs'>): number {
  return wantsLogprobs ? maxValuesOfLogprobs : maxValues;
}

/** Returns the error for an upstream's data that exceeds a limit, in bytes. */
export function tooLarge(what: 'a response' | 'an output', limit: number): ApiError {
  return ApiError.answerTooLarge(`The upstream sent ${what} larger than ${limit} bytes.`);
}

/** Returns the error for an upstream's data of more values than `mostValuesFor` has. */
export function tooManyValues(what: 'a response' | 'an event', most: number): ApiError {
  return ApiError.answerTooLarge(`The upstream sent ${what} of more than ${most} values.`);
}
