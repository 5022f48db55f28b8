import type { ApiError } from '../schema/api-error.ts';
import type { ExchangeReply } from './types.ts';

/** The reply that ends the exchange with an API error. Names in `headers` are lower-case. */
export function immediateResponse(
  error: ApiError,
  headers: Readonly<Record<string, string>>,
): Extract<ExchangeReply, { type: 'immediate_response' }> {
  return {
    type: 'immediate_response',
    status: error.status,
    headers: { ...headers, ...error.headers, 'content-type': 'application/json' },
    body: Buffer.from(error.toJson()),
    details: `responses_extproc:${error.code.slice(0, 100).replace(/\W/g, '_')}`,
  };
}
