import { emptyAnswer } from '../translate/chat-to-response/completion.ts';
import type { ResponseContext } from '../translate/shared/context.ts';
import type { ApiError } from '../wire/schema/api-error.ts';
import { doneEvent, encodeSseEvents } from '../wire/sse/encode-events.ts';
import { translatedHeaders } from './response/response-headers.ts';
import type { ExchangeReply } from './types.ts';

type ImmediateResponse = Extract<ExchangeReply, { type: 'immediate_response' }>;

/** The reply that ends the exchange with an API error. Names in `headers` are lower-case. */
export function immediateResponse(error: ApiError, headers: Readonly<Record<string, string>>): ImmediateResponse {
  return {
    type: 'immediate_response',
    status: error.status,
    headers: { ...headers, ...error.headers, 'content-type': 'application/json' },
    body: Buffer.from(error.toJson()),
    details: `responses_extproc:${error.code.slice(0, 100).replace(/\W/g, '_')}`,
  };
}

/** The reply that ends the exchange with a complete Response without output. */
export function immediateAnswer(
  context: ResponseContext,
  { dropped, requestId }: { readonly dropped: readonly string[]; readonly requestId: string | null },
): ImmediateResponse {
  const { stream, answer } = context;
  const { response, events } = emptyAnswer(context);
  return {
    type: 'immediate_response',
    status: 200,
    headers: translatedHeaders(new Map(), { stream, dropped }, requestId).set,
    body: stream
      ? Buffer.concat([encodeSseEvents(events), doneEvent])
      : Buffer.from(JSON.stringify(answer.bodyOf(response))),
    details: 'responses_extproc:empty_response',
  };
}
