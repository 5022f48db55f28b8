/**
 * The error a client reads. Shape: Open Responses, "Errors"; `type` is one of the five values of its table.
 * `code` is always a string, `param` a path in OpenAI's notation (`input[2].content[0].image_url`) where a field can
 * be named: the AI SDK loses the message when they are null.
 */
export type ApiErrorType = 'invalid_request' | 'not_found' | 'too_many_requests' | 'server_error' | 'model_error';

export type ApiErrorObject = Pick<ApiError, 'type' | 'code' | 'param' | 'message'>;

/** `type` is by the status, unless given. */
export type ApiErrorOptions = Pick<ApiError, 'status' | 'code'> &
  Partial<Pick<ApiError, 'type' | 'param' | 'headers' | 'cause'>>;

/** An error the client reads: an HTTP status while headers can change, `response.failed` after that. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  /** HTTP status, 400 to 599. */
  readonly status: number;
  readonly type: ApiErrorType;
  readonly code: string;
  readonly param: string | null;
  /** Response headers to send with the body, such as `retry-after`. */
  readonly headers: Readonly<Record<string, string>>;

  constructor(message: string, options: ApiErrorOptions) {
    // An error keeps its call stack unformatted until it is read, and so keeps everything the frames refer to: the
    // parsed body, for as long as the call lasts. This one is never read; the stack of a bug is in `cause`.
    const limit = Error.stackTraceLimit;
    Error.stackTraceLimit = 0;
    super(message, { cause: withoutText(options.cause) });
    Error.stackTraceLimit = limit;
    this.status = options.status;
    this.type = options.type ?? typeOf(options.status);
    this.code = options.code;
    this.param = options.param ?? null;
    this.headers = options.headers ?? {};
  }

  /** A mistake in the request: 400 `invalid_request` that names the field. */
  static invalidRequest(code: string, param: string | null, message: string): ApiError {
    return new ApiError(message, { status: 400, code, param });
  }

  /** The operator has to mend it: 500. */
  static misconfigured(message: string): ApiError {
    return new ApiError(message, { status: 500, code: 'proxy_misconfigured' });
  }

  /** An error for a body above its limit: 413. */
  static requestTooLarge(message: string): ApiError {
    return new ApiError(message, { status: 413, code: 'request_too_large' });
  }

  /** An error for an upstream that sent no answer: 502. */
  static invalidUpstream(message: string, cause?: unknown): ApiError {
    return new ApiError(message, { status: 502, code: 'invalid_upstream_response', cause });
  }

  /** An error for an upstream whose answer is above a limit: 502. */
  static answerTooLarge(message: string): ApiError {
    return new ApiError(message, { status: 502, code: 'upstream_response_too_large' });
  }

  /** An error for an answer of the model that is of no use: 502 `model_error`. */
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

  /** The HTTP body. */
  toJson(): string {
    return JSON.stringify({ error: this.toObject() });
  }
}

function typeOf(status: number): ApiErrorType {
  if (status >= 500) return 'server_error';
  return status === 404 ? 'not_found' : 'invalid_request';
}

/** The error that a parser threw, without the text that V8 has it refer to: all that was parsed. */
function withoutText(cause: unknown): unknown {
  if (!(cause instanceof SyntaxError)) return cause;
  return Object.assign(new SyntaxError(cause.message), { stack: cause.stack });
}
