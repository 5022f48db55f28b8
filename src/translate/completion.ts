import { ApiError } from '../schema/api-error.ts';
import { choiceOf, type Loose, objectOf, textOf } from '../schema/chat-completion.ts';
import type {
  MessageItem,
  OutputItem,
  OutputTextPart,
  ReasoningItem,
  RefusalPart,
  ResponseResource,
} from '../schema/response-resource.ts';
import { type CompletionCalls, namelessCall, readCalls, signatureOf } from './chat/call-entries.ts';
import { citationsOf } from './chat/citations.ts';
import { contentOf } from './chat/content-parts.ts';
import { type Outcome, outcomeOf } from './chat/finish.ts';
import { logprobsOf } from './chat/logprobs.ts';
import { reasoningOf } from './chat/reasoning-source.ts';
import { createThinkTagReader } from './chat/think-tags.ts';
import { usageOf } from './chat/usage.ts';
import type { ResponseContext } from './context.ts';
import { errorOfValue } from './error.ts';
import { envelopeOf, reasoningItemOf } from './response/reasoning-item.ts';
import { resourceOf } from './response/resource.ts';

/**
 * A JSON answer of the upstream as a Response (docs/answers.md §2). Everything but its shape is read loosely. An answer that
 * went wrong after it began is a Response with `status: "failed"` that keeps what there is.
 *
 * Throws ApiError where there is no answer: an error body under a 200, or nothing of a completion.
 */
export function translateCompletion(completion: unknown, context: ResponseContext): ResponseResource {
  const body = objectOf(completion);
  const choice = body === null ? null : choiceOf(body);
  const upstreamError = errorOfValue(completion);
  const message = choice === null ? null : messageOf(choice);
  if (body === null || choice === null || message === null) throw upstreamError ?? notACompletion();

  const id = context.newId('resp');
  const calls = readCalls(message, context);
  const output = outputOf({ body, choice, message, calls }, context);
  if (upstreamError !== null && output.length === 0) throw upstreamError;

  const outcome = finalOutcome(upstreamError, calls, output.length, choice['finish_reason']);
  if (output.length === 0 && outcome.status === 'completed') output.push(emptyMessage(context));
  return resourceOf(context, {
    id,
    status: outcome.status,
    output: outcome.status === 'completed' ? output : withLastIncomplete(output),
    usage: usageOf(body, context.profile),
    model: textOf(body['model']),
    serviceTier: textOf(body['service_tier']),
    error: outcome.status === 'failed' ? outcome.error : null,
    incompleteReason: outcome.status === 'incomplete' ? outcome.reason : null,
  });
}

/** The upstream's own word for how the answer ended, for the log; null if it gave none. */
export function finishReasonOf(completion: unknown): string | null {
  const body = objectOf(completion);
  return (body !== null && textOf(choiceOf(body)?.['finish_reason'])) || null;
}

/** Some proxies answer with `delta` where `message` belongs; Azure leaves both out of a filtered choice. */
function messageOf(choice: Loose): Loose | null {
  const message = objectOf(choice['message']) ?? objectOf(choice['delta']);
  return message ?? (textOf(choice['finish_reason']) === '' ? null : {});
}

function notACompletion(): ApiError {
  return new ApiError('The upstream’s answer is not a chat completion.', {
    status: 502,
    type: 'server_error',
    code: 'invalid_upstream_response',
  });
}

interface Answer {
  readonly body: Loose;
  readonly choice: Loose;
  readonly message: Loose;
  readonly calls: CompletionCalls;
}

/** Reasoning, then the message, then the calls; what is empty is left out. */
function outputOf(answer: Answer, context: ResponseContext): OutputItem[] {
  const source = reasoningOf(answer.message);
  const { thinking, text } = textsOf(answer.message, source.text, context);
  const reasoning = reasoningFor(answer, thinking, source.details, context);
  const items: OutputItem[] = [];
  if (reasoning !== null) items.push(reasoning);
  const parts = partsOf(answer, text, reasoning !== null, context);
  if (parts.length > 0)
    items.push({ id: context.newId('msg'), type: 'message', status: 'completed', role: 'assistant', content: parts });
  for (const item of answer.calls.items()) items.push(item);
  return items;
}

/** The text, and the reasoning: from its own field, or from `<think>` tags where the profile has them. */
function textsOf(
  message: Loose,
  reasoning: string,
  { profile }: ResponseContext,
): { readonly thinking: string; readonly text: string } {
  const content = contentOf(message['content']).text || textOf(objectOf(message['audio'])?.['transcript']);
  if (!profile.thinkTags || reasoning !== '') return { thinking: reasoning, text: content };
  const reader = createThinkTagReader(profile);
  const begun = reader.push(content);
  const rest = reader.finish();
  return { thinking: begun.thinking + rest.thinking, text: begun.text + rest.text };
}

function reasoningFor(
  { message, calls }: Answer,
  text: string,
  details: readonly unknown[],
  context: ResponseContext,
): ReasoningItem | null {
  const own = signatureOf(message);
  const extras = { details, signatures: own === '' ? calls.signatures : { ...calls.signatures, '': own } };
  if (text === '' && envelopeOf(text, extras, context) === null) return null;
  return reasoningItemOf({ id: context.newId('rs'), status: 'completed', text, ...extras }, context);
}

function partsOf(
  { body, choice, message, calls }: Answer,
  text: string,
  hasReasoning: boolean,
  context: ResponseContext,
): (OutputTextPart | RefusalPart)[] {
  const refusal = contentOf(message['content']).refusal || textOf(message['refusal']);
  // Qwen and Hermes templates leave line feeds around calls and thinking; they are markup, not an answer.
  const hasCalls = calls.count > 0 || calls.forbidden !== null;
  const isMarkup = (hasCalls || hasReasoning || refusal !== '') && text.trim() === '';
  const parts: (OutputTextPart | RefusalPart)[] = [];
  if (text !== '' && !isMarkup)
    parts.push({
      type: 'output_text',
      text,
      annotations: citationsOf(body, message),
      logprobs: context.wantsLogprobs ? logprobsOf(choice['logprobs']) : [],
    });
  if (refusal !== '') parts.push({ type: 'refusal', refusal });
  return parts;
}

function finalOutcome(
  upstreamError: ApiError | null,
  calls: CompletionCalls,
  items: number,
  finishReason: unknown,
): Outcome {
  if (upstreamError !== null) return { status: 'failed', error: upstreamError };
  if (calls.forbidden !== null) return { status: 'failed', error: calls.forbidden };
  if (calls.hasNameless && items === 0) return { status: 'failed', error: namelessCall() };
  return outcomeOf(finishReason);
}

/** Nothing at all, and yet complete: clients look for a text, so they get an empty one. */
function emptyMessage(context: ResponseContext): MessageItem {
  const part: OutputTextPart = { type: 'output_text', text: '', annotations: [], logprobs: [] };
  return { id: context.newId('msg'), type: 'message', status: 'completed', role: 'assistant', content: [part] };
}

/** Only the last item can be cut off (Open Responses, “Items”). */
function withLastIncomplete(output: readonly OutputItem[]): OutputItem[] {
  return output.map((item, index) => (index === output.length - 1 ? { ...item, status: 'incomplete' } : item));
}
