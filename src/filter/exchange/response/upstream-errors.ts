import { ApiError } from '../../wire/schema/api-error.ts';

/** What the upstream sent exceeds a limit, in bytes. */
export function tooLarge(what: 'a response' | 'an event' | 'an output', limit: number): ApiError {
  const message = `The upstream sent ${what} larger than ${limit} bytes.`;
  return new ApiError(message, { status: 502, code: 'upstream_response_too_large' });
}
