import { Buffer } from 'node:buffer';
import { withoutLineSeparators } from '../../../formats/json/parts.ts';
import { isExtension, type ResponseStreamEvent } from '../schema/stream-events.ts';

/** The end of every stream, as the specification requires. */
export const doneEvent = Buffer.from('data: [DONE]\n\n');

/** A comment resets idle timeouts on the way, and clients ignore it. */
export const keepAliveComment = Buffer.from(': keepalive\n\n');

/**
 * Events as the bytes of a stream, in one piece: `event:` repeats the type (Open Responses requires it), the data is
 * one line of JSON. No event is cut, because some clients' parsers lose an event that is; `delivery.ts` writes, and cuts, events that repeat
 * a long output or request.
 */
export function encodeSseEvents(events: readonly ResponseStreamEvent[]): Buffer {
  let text = '';
  for (const event of events) text += encodeEvent(event);
  return Buffer.from(text);
}

/**
 * Fast path: deltas, which are nearly all of a stream, are written as template literals with the very bytes that
 * `JSON.stringify` gives, except for separators of lines, which saves 7 % of a token in a burst (docs/decisions/0012-speed.md). An event with
 * a further field (logprobs, padding) is stringified. Ids are generated here and need no escaping.
 */
function encodeEvent(event: ResponseStreamEvent): string {
  switch (event.type) {
    case 'response.output_text.delta':
      if (event.logprobs.length > 0 || event.obfuscation !== undefined) break;
      return `event: response.output_text.delta\ndata: {"type":"response.output_text.delta","item_id":"${event.item_id}","output_index":${event.output_index},"content_index":${event.content_index},"delta":${quoted(event.delta)},"logprobs":[],"sequence_number":${event.sequence_number}}\n\n`;
    case 'response.function_call_arguments.delta':
      if (event.obfuscation !== undefined) break;
      return `event: response.function_call_arguments.delta\ndata: {"type":"response.function_call_arguments.delta","item_id":"${event.item_id}","output_index":${event.output_index},"delta":${quoted(event.delta)},"sequence_number":${event.sequence_number}}\n\n`;
    case 'response.custom_tool_call_input.delta':
      if (event.obfuscation !== undefined) break;
      return `event: response.custom_tool_call_input.delta\ndata: {"type":"response.custom_tool_call_input.delta","item_id":"${event.item_id}","output_index":${event.output_index},"delta":${quoted(event.delta)},"sequence_number":${event.sequence_number}}\n\n`;
    case 'response.reasoning_summary_text.delta':
      if (event.obfuscation !== undefined) break;
      return `event: response.reasoning_summary_text.delta\ndata: {"type":"response.reasoning_summary_text.delta","item_id":"${event.item_id}","output_index":${event.output_index},"summary_index":${event.summary_index},"delta":${quoted(event.delta)},"sequence_number":${event.sequence_number}}\n\n`;
  }
  return `event: ${event.type}\ndata: ${withoutLineSeparators(jsonOf(event))}\n\n`;
}

/** Characters that nearly all tokens stay below. For longer texts `JSON.stringify` is faster than a loop. */
const shortText = 32;

/**
 * A text as JSON, without separators of lines. One loop looks for both what JSON escapes and those separators: a token rarely has
 * any, and a loop over a short text costs less than a call of `JSON.stringify` and a search after it.
 */
function quoted(text: string): string {
  if (text.length > shortText) return withoutLineSeparators(JSON.stringify(text));
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    // A quote, a backslash, a control character; surrogates, which may stand alone; U+0085, U+2028 and U+2029.
    const isRare = code < 0x20 || code === 0x22 || code === 0x5c || (code >= 0xd800 && code <= 0xdfff);
    if (isRare || code === 0x85 || code === 0x2028 || code === 0x2029)
      return withoutLineSeparators(JSON.stringify(text));
  }
  return `"${text}"`;
}

/** A function of its own keeps the fast path above small. */
function jsonOf(event: ResponseStreamEvent): string {
  if (!isExtension(event)) return JSON.stringify(event);
  // The type of an extension needs no escaping.
  const { type, fields, sequence_number } = event;
  return `{"type":"${type}",${fields === '' ? '' : `${fields},`}"sequence_number":${sequence_number}}`;
}
