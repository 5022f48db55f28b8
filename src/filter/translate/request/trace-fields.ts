import type { ChatCompletionRequest } from '../../wire/schema/chat-request.ts';
import type { CreateResponse, InputMessage } from './parsed.ts';
import { carry, mark, type Trace } from './trace.ts';

/** Marks the messages that come first: the instructions, and a text format in words. */
export function markLeading(
  [instructions, format]: readonly (InputMessage | null | undefined)[],
  { text }: CreateResponse,
): void {
  if (instructions != null) mark(instructions, 'instructions');
  if (format != null) carry(format, text.format);
}

/**
 * Marks the fields of a translated request, whose values have no identity, with the fields that they were made of. `limitBy`
 * is the one that set the token limit.
 */
export function markFields(
  chat: ChatCompletionRequest,
  request: CreateResponse,
  { setBy }: Trace,
  limitBy: string,
): void {
  const effort = setBy.effort ?? 'reasoning.effort';
  const otherNames: Readonly<Record<string, string>> = {
    stream_options: 'stream',
    max_tokens: limitBy,
    max_completion_tokens: limitBy,
    logprobs: 'top_logprobs',
    verbosity: 'text.verbosity',
    reasoning_effort: effort,
    reasoning: effort,
    thinking: effort,
    enable_thinking: effort,
  };
  for (const name of Object.keys(chat)) {
    if (name === 'tools') continue;
    if (name === 'response_format') carry(chat, request.text.format, name);
    else if (hasField(request, otherNames[name] ?? name)) mark(chat, otherNames[name] ?? name, name);
    if (name === 'logprobs') markInclude(chat, request.include);
  }
}

/** Whether the request itself, or one of its items, set that path. */
function hasField(request: CreateResponse, path: string): boolean {
  const [name = '', key] = path.split('.');
  if (name.startsWith('input[')) return true;
  const value = (request as unknown as Readonly<Record<string, unknown>>)[name];
  if (key === undefined) return value != null && value !== '';
  return (value as Readonly<Record<string, unknown>> | null | undefined)?.[key] != null;
}

function markInclude(chat: ChatCompletionRequest, include: readonly string[]): void {
  const index = include.indexOf('message.output_text.logprobs');
  if (index !== -1) mark(chat, `include[${index}]`, 'logprobs');
}
