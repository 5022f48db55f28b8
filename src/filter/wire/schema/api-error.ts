/**
 * The `type` of the error that a client reads, one of the five of Open Responses, "Errors". An error's `code` is always a string, and its
 * `param` a path in OpenAI's notation (`input[2].content[0].image_url`) where a field can be named: the AI SDK loses the message when they
 * are null.
 */
export type ApiErrorType = 'invalid_request' | 'not_found' | 'too_many_requests' | 'server_error' | 'model_error';

export type ApiErrorObject = Pick<ApiError, 'type' | 'code' | 'param' | 'message'>;

/** The status decides on the `type`, unless one is given. */
export type ApiErrorOptions = Pick<ApiError, 'status' | 'code'> &
  Partial<Pick<ApiError, 'type' | 'param' | 'headers' | 'cause'>>;

/** An error that the client reads: with its HTTP status while headers can change, and as `response.failed` after that. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  /** HTTP status, 400 to 599. */
  readonly status: number;
  readonly type: ApiErrorType;
  readonly code: string;
  readonly param: string | null;
  /** Response headers that are sent with the body, such as `retry-after`. */
  readonly headers: Readonly<Record<string, string>>;

  constructor(message: string, options: ApiErrorOptions) {
    // An error keeps its call stack unformatted until it is read, and so keeps everything that the frames refer to, such as the
    // parsed body, for as long as the call lasts. This stack is never read; the stack of a bug is in `cause`.
    const limit = Error.stackTraceLimit;
    Error.stackTraceLimit = 0;
    super(message, { cause: withoutText(options.cause) });
    Error.stackTraceLimit = limit;
    this.status = options.status;
    this.type = options.type ?? typeByStatus(options.status);
    this.code = options.code;
    this.param = options.param ?? null;
    this.headers = options.headers ?? {};
  }

  /** A mistake in the request: 400 `invalid_request` that names the field. */
  static invalidRequest(code: string, param: string | null, message: string): ApiError {
    return new ApiError(message, { status: 400, code, param });
  }

  /** The operator has to mend the configuration: 500. */
  static misconfigured(message: string): ApiError {
    return new ApiError(message, { status: 500, code: 'proxy_misconfigured' });
  }

  /** A body above its limit: 413. */
  static requestTooLarge(message: string): ApiError {
    return new ApiError(message, { status: 413, code: 'request_too_large' });
  }

  /** The upstream sent no answer: 502. */
  static invalidUpstream(message: string, cause?: unknown): ApiError {
    return new ApiError(message, { status: 502, code: 'invalid_upstream_response', cause });
  }

  /** The upstream's answer is above a limit: 502. */
  static answerTooLarge(message: string): ApiError {
    return new ApiError(message, { status: 502, code: 'upstream_response_too_large' });
  }

  /** The model's answer is of no use: 502 `model_error`. */
  static ofModel(code: string, message: string): ApiError {
    return new ApiError(message, { status: 502, type: 'model_error', code });
  }

  /** Whatever was thrown, as something a client may see; the original stays in `cause` for the log. */
  static from(thrown: unknown): ApiError {
    if (thrown instanceof ApiError) return thrown;
    const message = 'The service failed to translate this request. Its log has the cause.';
    return new ApiError(message, { status: 500, code: 'server_error', cause: thrown });
  }

  toObject(): ApiErrorObject {
    return { type: this.type, code: this.code, param: this.param, message: this.message };
  }

  toJson(): string {
    return JSON.stringify({ error: this.toObject() });
  }
}

function typeByStatus(status: number): ApiErrorType {
  if (status >= 500) return 'server_error';
  return status === 404 ? 'not_found' : 'invalid_request';
}

/** The error that a parser threw, without the text to which V8 makes it refer: all that was parsed. */
function withoutText(cause: unknown): unknown {
  if (!(cause instanceof SyntaxError)) return cause;
  return Object.assign(new SyntaxError(cause.message), { stack: cause.stack });
}
