import type { ApiError, ApiErrorObject } from '../../filter/index.ts';

/** An error for the client, in answer to a turn, or to a message that did not become one. The connection stays usable. */
export interface TurnError {
  readonly status: number;
  /** The API's error object, or the one that came over HTTP, unchanged. */
  readonly error: ApiErrorObject | Readonly<Record<string, unknown>>;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Makes an error, with the type that its status has over HTTP. */
export function turnError(status: number, code: string, message: string, param: string | null = null): TurnError {
  const type = status >= 500 ? 'server_error' : (typesOfStatus[status] ?? 'invalid_request');
  return { status, error: { type, code, param, message } };
}

const typesOfStatus: Readonly<Record<number, ApiError['type']>> = { 404: 'not_found', 429: 'too_many_requests' };

export function fromApiError(error: ApiError): TurnError {
  return { status: error.status, error: error.toObject(), headers: error.headers };
}

/** Makes the error for a mistake of the client, in the field `param`. */
export function invalid(code: string, param: string | null, message: string): TurnError {
  return turnError(400, code, message, param);
}

/** Returns what `read` returns, or the client's error for a value that is too large or no JSON. Rethrows other errors. */
export function readOrRefuse<Result>(read: () => Result): Result | TurnError {
  try {
    return read();
  } catch (error) {
    if (error instanceof RangeError) return turnError(413, 'request_too_large', error.message);
    if (!(error instanceof SyntaxError)) throw error;
    return invalid('invalid_json', null, 'The message is not valid JSON. Send one JSON object.');
  }
}

export function encodeErrorMessage({ status, error, headers }: TurnError, streamId: string | null): string {
  return JSON.stringify({ type: 'error', status, error, headers, ...(streamId !== null && { stream_id: streamId }) });
}
