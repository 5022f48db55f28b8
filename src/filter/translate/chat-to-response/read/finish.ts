import { ApiError, type ApiErrorType } from '../../../wire/schema/api-error.ts';
import type { LooseChoice } from '../../../wire/schema/chat-completion.ts';
import type { Outcome } from '../../shared/context.ts';
import { readWord } from '../../shared/held-bytes.ts';

interface AnswerEnd {
  hasAnswer(): boolean;
  hasCutCall(): boolean;
}

/** The failures that reasons mean, by the code that the client gets. */
const failures = {
  upstream_error: ['model_error', 'The upstream ended the answer with an error.'],
  invalid_tool_call: ['model_error', 'The model called a tool in a way the upstream could not read. Try again.'],
  request_cancelled: ['server_error', 'The upstream cancelled the request before the answer was complete.'],
  insufficient_system_resource: [
    'server_error',
    'The upstream ran out of resources before the answer was complete. Try again later.',
  ],
  repetition: ['model_error', 'The upstream stopped the model because it repeated itself.'],
  network_error: ['model_error', 'The upstream lost the connection to the model.'],
} as const satisfies Record<string, readonly [type: ApiErrorType, message: string]>;

/** Characters of a reason that an error repeats: reasons are words, and a longer text is not. */
const maxReasonLength = 64;

type Meaning = 'completed' | 'called' | 'max_output_tokens' | 'content_filter' | keyof typeof failures;

const meanings = new Map<string, Meaning>();
function means(meaning: Meaning, ...reasons: readonly string[]): void {
  for (const reason of reasons) meanings.set(reason, meaning);
}

// Reasons in lower case, by vendor. The same table is in docs/answers.md §1.6.
means('completed', 'stop'); // OpenAI and nearly everybody
means('completed', 'end_turn', 'stop_sequence', 'pause_turn'); // Anthropic, Bedrock
means('completed', 'eos', 'eos_token', 'stop_str', 'complete'); // Together, TGI, SGLang, Cohere
means('called', 'tool_calls', 'function_call', 'tool_use', 'tool_call'); // OpenAI, Anthropic, Cohere
means('max_output_tokens', 'length', 'max_tokens', 'model_length', 'max_output_tokens'); // OpenAI, Anthropic, Mistral, Gemini
means('max_output_tokens', 'model_context_window_exceeded', 'error_limit'); // Anthropic and Bedrock, Cohere
means('content_filter', 'content_filter', 'content_filtered', 'refusal'); // OpenAI and Azure, Bedrock, Anthropic
means('content_filter', 'guardrail_intervened'); // Bedrock
means('content_filter', 'sensitive', 'error_toxic'); // Zhipu, Cohere
means('content_filter', 'safety', 'recitation', 'blocklist', 'prohibited_content', 'spii', 'language'); // Gemini
means('content_filter', 'image_safety', 'image_prohibited_content', 'image_recitation', 'model_armor'); // Gemini, Vertex
means('upstream_error', 'error');
means('invalid_tool_call', 'malformed_function_call', 'unexpected_tool_call', 'too_many_tool_calls'); // Gemini
means('invalid_tool_call', 'malformed_response'); // Gemini
means('invalid_tool_call', 'malformed_tool_use', 'malformed_model_output'); // Bedrock
means('request_cancelled', 'abort', 'aborted', 'cancelled', 'cancel', 'user_cancel'); // vLLM, SGLang, Cohere
means('insufficient_system_resource', 'insufficient_system_resource'); // DeepSeek
means('repetition', 'repetition'); // vLLM
means('network_error', 'network_error'); // Zhipu

/**
 * Reads a `finish_reason` (docs/answers.md §1.6) in any case. Without a reason the end is normal, since some servers never send one, unless
 * there is no answer or a call is cut. An unknown reason after some output is a normal end too; without output the answer has failed,
 * since an agent would take an empty one for the end of its task. `hasCalled` tells that the reason is a call.
 */
export function readOutcome(finishReason: unknown, output: AnswerEnd): Outcome {
  if (typeof finishReason !== 'string' || finishReason.trim() === '')
    return !output.hasAnswer() || output.hasCutCall()
      ? { status: 'failed', error: truncated() }
      : { status: 'completed', hasCalled: false };
  const meaning = findMeaning(finishReason) ?? (output.hasAnswer() ? 'completed' : null);
  switch (meaning) {
    case 'completed':
    case 'called':
      return { status: 'completed', hasCalled: meaning === 'called' };
    case 'max_output_tokens':
    case 'content_filter':
      return { status: 'incomplete', reason: meaning };
    case null: {
      const shown = finishReason.length > maxReasonLength ? '…' : finishReason;
      const message = `The upstream ended the answer before it began, with the reason “${shown}”.`;
      return { status: 'failed', error: ApiError.ofModel('upstream_error', message) };
    }
    default: {
      const [type, message] = failures[meaning];
      return { status: 'failed', error: new ApiError(message, { status: 502, type, code: meaning }) };
    }
  }
}

/**
 * Reads the finish reason of a choice; `''` for none. Where OpenRouter's provider fails, `finish_reason` may be `stop` all the same, and only
 * the provider's own reason shows the failure (hax#15). OpenRouter translates reasons for ends and filters well.
 */
export function readFinishReason({ finish_reason, native_finish_reason }: LooseChoice): string {
  const reason = readWord(finish_reason);
  if (native_finish_reason == null || reason === '' || !isNormalEnd(reason)) return reason;
  const native = readWord(native_finish_reason);
  return Object.hasOwn(failures, findMeaning(native) ?? '') ? native : reason;
}

export function isErrorReason(finishReason: string): boolean {
  return findMeaning(finishReason) === 'upstream_error';
}

export function isNormalEnd(finishReason: string): boolean {
  const meaning = findMeaning(finishReason) ?? 'completed';
  return meaning === 'completed' || meaning === 'called';
}

/** The error of an answer without any sign that it is complete (choice D9). */
export function truncated(): ApiError {
  const message = 'The upstream ended the stream before the answer was complete.';
  return new ApiError(message, { status: 502, code: 'upstream_stream_truncated' });
}

/** Proxies in front of Gemini write both its reason and their own: `function_call_filter: MALFORMED_FUNCTION_CALL`. */
function findMeaning(finishReason: string): Meaning | undefined {
  const reason = finishReason.trim().toLowerCase();
  const whole = meanings.get(reason);
  if (whole !== undefined) return whole;
  const colon = reason.indexOf(':');
  if (colon < 0) return undefined;
  return meanings.get(reason.slice(colon + 1).trim()) ?? meanings.get(reason.slice(0, colon).trim());
}
