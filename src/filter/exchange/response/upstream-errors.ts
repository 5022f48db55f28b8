import { ApiError } from '../../wire/schema/api-error.ts';

/** What the upstream sent exceeds a limit, in bytes. */
export function tooLarge(what: 'a response' | 'an event' | 'an output', limit: number): ApiError {
  return upstreamError(502, 'upstream_response_too_large', `The upstream sent ${what} larger than ${limit} bytes.`);
}

/** The proxy cut the response at the end of its own buffer. */
export function partialUpstreamBody(): ApiError {
  const message = 'The upstream’s response is larger than the proxy’s buffer (response body mode BUFFERED_PARTIAL).';
  return upstreamError(502, 'upstream_response_too_large', message);
}

/** The upstream was silent for that long. */
export function upstreamIdle(afterMs: number): ApiError {
  return upstreamError(504, 'upstream_timeout', `The upstream was silent for ${afterMs / 1000} s.`);
}

function upstreamError(status: number, code: string, message: string): ApiError {
  return new ApiError(message, { status, code });
}
