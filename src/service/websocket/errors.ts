import type { ApiErrorObject } from '../../filter/wire/schema/api-error.ts';

/** An error message: about one turn, or about a message that is not a turn. The connection stays usable. */
export interface TurnError {
  readonly status: number;
  /** The API's error object; one that came over HTTP is passed on as it is. */
  readonly error: ApiErrorObject | Readonly<Record<string, unknown>>;
  /** `retry-after`, where the HTTP answer had one. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** A mistake of the client, by the field that it is in: status 400. */
export function invalid(code: string, param: string | null, message: string): TurnError {
  return { status: 400, error: { type: 'invalid_request', code, param, message } };
}

/** The proxy's answer is unusable or incomplete. */
export function failed(status: 502 | 503, code: string, message: string): TurnError {
  return { status, error: { type: 'server_error', code, param: null, message } };
}

/** The text of the message. `streamId` is the lane's. */
export function errorMessage({ status, error, headers }: TurnError, streamId: string | null): string {
  return JSON.stringify({
    type: 'error',
    status,
    error,
    ...(headers === undefined ? {} : { headers }),
    ...(streamId === null ? {} : { stream_id: streamId }),
  });
}
