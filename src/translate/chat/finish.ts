import { ApiError, type ApiErrorType } from '../../schema/api-error.ts';

/** How a response ends. A failure's error is for `response.error`; its HTTP status counts only while the headers wait. */
export type Outcome =
  | { readonly status: 'completed' }
  | { readonly status: 'incomplete'; readonly reason: 'max_output_tokens' | 'content_filter' }
  | { readonly status: 'failed'; readonly error: ApiError };

const completed: Outcome = { status: 'completed' };

/** The reasons of an answer that was cut off, in lower case: OpenAI, Mistral, Anthropic, Gemini. */
const tooLong = new Set(['length', 'max_tokens', 'model_length', 'max_output_tokens']);
/** OpenAI and Azure, Gemini, Zhipu, Anthropic. */
const filtered = new Set(['content_filter', 'content_filtered', 'safety', 'recitation', 'sensitive', 'refusal']);

const failures = new Map<string, { code: string; type: ApiErrorType; message: string }>();
function failsWith(reasons: readonly string[], type: ApiErrorType, code: string | null, message: string): void {
  for (const reason of reasons) failures.set(reason, { type, code: code ?? reason, message });
}
failsWith(['error'], 'model_error', 'upstream_error', 'The upstream ended the answer with an error.');
failsWith(
  ['abort', 'aborted', 'cancelled', 'cancel'],
  'server_error',
  'request_cancelled',
  'The upstream cancelled the request before the answer was complete.',
);
failsWith(
  ['insufficient_system_resource'],
  'server_error',
  null,
  'The upstream ran out of resources before the answer was complete. Try again later.',
);
failsWith(['repetition'], 'model_error', null, 'The upstream stopped the model because it repeated itself.');
failsWith(['network_error'], 'model_error', null, 'The upstream lost the connection to the model.');

/**
 * What a `finish_reason` means (docs/answers.md §1.6), in any case of letters. Null, missing and unknown ones mean a normal
 * end: some servers never send one, and what was produced is there. Whether tools were called plays no part.
 */
export function outcomeOf(finishReason: unknown): Outcome {
  if (typeof finishReason !== 'string') return completed;
  const reason = finishReason.toLowerCase();
  if (tooLong.has(reason)) return { status: 'incomplete', reason: 'max_output_tokens' };
  if (filtered.has(reason)) return { status: 'incomplete', reason: 'content_filter' };
  const failure = failures.get(reason);
  if (failure === undefined) return completed;
  const { message, type, code } = failure;
  return { status: 'failed', error: new ApiError(message, { status: 502, type, code }) };
}
