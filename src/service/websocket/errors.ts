import type { ApiError, ApiErrorObject } from '../../filter/index.ts';

/** An error message: about one turn, or about a message that is not a turn. The connection stays usable. */
export interface TurnError {
  readonly status: number;
  /** The API's error object; one that came over HTTP is passed on as it is. */
  readonly error: ApiErrorObject | Readonly<Record<string, unknown>>;
  /** `retry-after`, where the HTTP answer had one. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** An error of this side's own; its type follows from the status, as over HTTP. */
export function turnError(status: number, code: string, message: string, param: string | null = null): TurnError {
  const type = status >= 500 ? 'server_error' : (typesOfStatus[status] ?? 'invalid_request');
  return { status, error: { type, code, param, message } };
}

const typesOfStatus: Readonly<Record<number, ApiError['type']>> = { 404: 'not_found', 429: 'too_many_requests' };

/** An error of the rest of the service. */
export function turnErrorOf(error: ApiError): TurnError {
  return { status: error.status, error: error.toObject(), headers: error.headers };
}

/** A mistake of the client, by the field that it is in: status 400. */
export function invalid(code: string, param: string | null, message: string): TurnError {
  return turnError(400, code, message, param);
}

/** Returns what was read, or the client's error for a value that cannot be read. Rethrows anything else. */
export function readOrRefuse<Result>(read: () => Result): Result | TurnError {
  try {
    return read();
  } catch (error) {
    if (error instanceof RangeError) return turnError(413, 'request_too_large', error.message);
    if (error instanceof SyntaxError)
      return invalid('invalid_json', null, 'The message is not valid JSON. Send one JSON object.');
    throw error;
  }
}

/** The text of the message. `streamId` is the lane's. */
export function errorMessage({ status, error, headers }: TurnError, streamId: string | null): string {
  return JSON.stringify({
    type: 'error',
    status,
    error,
    headers,
    ...(streamId === null ? {} : { stream_id: streamId }),
  });
}
