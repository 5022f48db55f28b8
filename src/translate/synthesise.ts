import { ApiError } from '../schema/api-error.ts';
import type {
  CustomToolCallItem,
  FunctionCallItem,
  MessageItem,
  OutputItem,
  OutputTextPart,
  ReasoningItem,
  RefusalPart,
  ResponseResource,
} from '../schema/response-resource.ts';
import type { ResponseStreamEvent } from '../schema/stream-events.ts';
import type { ResponseContext } from './context.ts';
import { createEventLog, type EventLog } from './response/event-log.ts';
import { emitFailure } from './response/failure.ts';

type Needed = Pick<ResponseContext, 'reasoningEvents' | 'obfuscate' | 'newId'>;

/**
 * The whole stream of a response that came in one piece: what a client that asked for `stream: true` gets when the
 * upstream answered with JSON (docs/answers.md E6). One delta per part; the numbering starts at 0.
 */
export function eventsOfResponse(response: ResponseResource, context: Needed): ResponseStreamEvent[] {
  const log = createEventLog(context);
  const start: ResponseResource = {
    ...response,
    status: 'in_progress',
    completed_at: null,
    error: null,
    incomplete_details: null,
    output: [],
    usage: null,
  };
  log.emit({ type: 'response.created', response: start });
  log.emit({ type: 'response.in_progress', response: start });
  for (const [index, item] of response.output.entries()) emitItem(log, index, item, context);
  switch (response.status) {
    case 'failed':
      emitFailure(log, failureOf(response), response);
      break;
    case 'completed':
    case 'incomplete':
      log.emit({ type: `response.${response.status}`, response });
      break;
    case 'in_progress':
      throw new Error('A response that is not finished has no whole stream.');
  }
  return log.take();
}

function failureOf({ error }: ResponseResource): ApiError {
  const { code, message } = error ?? { code: 'server_error', message: 'The upstream failed.' };
  return new ApiError(message, { status: 502, type: 'server_error', code });
}

function emitItem(log: EventLog, index: number, item: OutputItem, context: Needed): void {
  log.emit({ type: 'response.output_item.added', output_index: index, item: startOf(item, context) });
  switch (item.type) {
    case 'message':
      emitMessage(log, index, item);
      break;
    case 'reasoning':
      emitReasoning(log, index, item, context);
      break;
    case 'function_call':
      emitFunctionCall(log, index, item);
      break;
    case 'custom_tool_call':
      emitCustomCall(log, index, item);
      break;
    case 'tool_search_call':
      break;
  }
  log.emit({ type: 'response.output_item.done', output_index: index, item });
}

/** The item as it is when it begins. */
function startOf(item: OutputItem, { reasoningEvents }: Needed): OutputItem {
  switch (item.type) {
    case 'message':
      return { ...item, status: 'in_progress', content: [] };
    case 'reasoning':
      return {
        id: item.id,
        type: 'reasoning',
        status: 'in_progress',
        summary: [],
        ...(reasoningEvents !== 'summary' && { content: [] }),
      };
    case 'function_call':
      return { ...item, status: 'in_progress', arguments: '' };
    case 'custom_tool_call':
      return { ...item, status: 'in_progress', input: '' };
    case 'tool_search_call':
      return { ...item, status: 'in_progress', arguments: {} };
  }
}

function emitMessage(log: EventLog, index: number, { id, content }: MessageItem): void {
  for (const [contentIndex, part] of content.entries()) {
    const place = { item_id: id, output_index: index, content_index: contentIndex };
    log.emit({ type: 'response.content_part.added', ...place, part: emptyPart(part) });
    if (part.type === 'refusal') {
      log.emit({ type: 'response.refusal.delta', ...place, delta: part.refusal });
      log.emit({ type: 'response.refusal.done', ...place, refusal: part.refusal });
    } else {
      const { text, logprobs } = part;
      if (text !== '') log.emit({ type: 'response.output_text.delta', ...place, delta: text, logprobs });
      for (const [annotationIndex, annotation] of part.annotations.entries())
        log.emit({
          type: 'response.output_text.annotation.added',
          ...place,
          annotation_index: annotationIndex,
          annotation,
        });
      log.emit({ type: 'response.output_text.done', ...place, text, logprobs });
    }
    log.emit({ type: 'response.content_part.done', ...place, part });
  }
}

function emptyPart(part: OutputTextPart | RefusalPart): OutputTextPart | RefusalPart {
  return part.type === 'refusal'
    ? { type: 'refusal', refusal: '' }
    : { type: 'output_text', text: '', annotations: [], logprobs: [] };
}

function emitReasoning(log: EventLog, index: number, item: ReasoningItem, { reasoningEvents }: Needed): void {
  const part = reasoningEvents === 'summary' ? item.summary[0] : item.content?.[0];
  if (part === undefined) return;
  const { text } = part;
  if (part.type === 'summary_text') {
    const place = { item_id: item.id, output_index: index, summary_index: 0 };
    log.emit({ type: 'response.reasoning_summary_part.added', ...place, part: { type: 'summary_text', text: '' } });
    log.emit({ type: 'response.reasoning_summary_text.delta', ...place, delta: text });
    log.emit({ type: 'response.reasoning_summary_text.done', ...place, text });
    log.emit({ type: 'response.reasoning_summary_part.done', ...place, part });
    return;
  }
  const name = reasoningEvents === 'reasoning' ? 'response.reasoning' : 'response.reasoning_text';
  const place = { item_id: item.id, output_index: index, content_index: 0 };
  log.emit({ type: 'response.content_part.added', ...place, part: { type: 'reasoning_text', text: '' } });
  log.emit({ type: `${name}.delta`, ...place, delta: text });
  log.emit({ type: `${name}.done`, ...place, text });
  log.emit({ type: 'response.content_part.done', ...place, part });
}

function emitFunctionCall(log: EventLog, index: number, item: FunctionCallItem): void {
  const place = { item_id: item.id, output_index: index };
  log.emit({ type: 'response.function_call_arguments.delta', ...place, delta: item.arguments });
  log.emit({
    type: 'response.function_call_arguments.done',
    ...place,
    name: item.name,
    arguments: item.arguments,
  });
}

function emitCustomCall(log: EventLog, index: number, item: CustomToolCallItem): void {
  const place = { item_id: item.id, output_index: index };
  if (item.input !== '') log.emit({ type: 'response.custom_tool_call_input.delta', ...place, delta: item.input });
  log.emit({ type: 'response.custom_tool_call_input.done', ...place, input: item.input });
}
