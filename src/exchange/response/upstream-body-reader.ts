import type { ApiError } from '../../schema/api-error.ts';
import type { Usage } from '../../schema/response-resource.ts';
import type { ResponseContext } from '../../translate/context.ts';

/**
 * Reads the upstream's body and makes the client's from it, whatever the two are: completion, event stream, error or
 * nonsense. It knows bytes in and bytes out; when they leave and with which headers is the leg's matter.
 */
export interface UpstreamBodyReader {
  /** Plain bytes of the upstream's body in, what the client gets for them out: whole events, or nothing yet. */
  push(bytes: Buffer): Buffer;
  /** Lets a stream begin before the upstream has said anything: the client may have waited long enough. */
  start(): Buffer;
  /** The upstream's body is over. Gives the rest; `disposition` is not null afterwards. */
  end(): Buffer;
  /** Ends the answer with an error of our own: a stall, a body that cannot be decoded. */
  fail(error: ApiError): Buffer;
  /** Null while it may still become an error with an HTTP status; then for good `accepted`, or that error. */
  disposition(): Disposition;
  /** All was said; what the upstream adds is ignored. */
  isComplete(): boolean;
  /** The model has finished: only usage and the end may follow. */
  sawFinishReason(): boolean;
  /** Bytes kept until more come. */
  bufferedBytes(): number;
  report(): UpstreamBodyReport;
}

export type Disposition = 'accepted' | ApiError | null;

/** What became of the answer, for the log. */
export interface UpstreamBodyReport {
  readonly error: ApiError | null;
  readonly status: string | null;
  readonly model: string | null;
  readonly finishReason: string | null;
  readonly events: number;
  readonly usage: Usage | null;
}

export interface UpstreamBodyOptions {
  /** The upstream's HTTP status. */
  readonly status: number;
  readonly contentType: string | null;
  readonly retryAfter: string | null;
  /** Null when the upstream answered before the request was read. */
  readonly context: ResponseContext | null;
  /** The headers have left: an error can only be said in the body. */
  readonly committed: boolean;
  readonly limits: UpstreamBodyLimits;
}

/** Bytes after decompression. */
export interface UpstreamBodyLimits {
  readonly maxResponseBytes: number;
  readonly maxErrorBytes: number;
  readonly maxSseEventBytes: number;
}

export const emptyReport: UpstreamBodyReport = {
  error: null,
  status: null,
  model: null,
  finishReason: null,
  events: 0,
  usage: null,
};
