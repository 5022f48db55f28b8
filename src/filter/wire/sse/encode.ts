import { Buffer } from 'node:buffer';
import { isExtension, type ResponseStreamEvent } from '../schema/stream-events.ts';

/** The end of every stream, as the specification requires. */
export const doneEvent = Buffer.from('data: [DONE]\n\n');

/** A comment: resets idle timeouts on the way, and clients ignore it. */
export const keepAliveComment = Buffer.from(': keepalive\n\n');

/**
 * Events as the bytes of a stream, in one piece: `event:` repeats the type (Open Responses requires it), the data is
 * one line of JSON, and no event is cut, because some clients' parsers lose an event that is.
 */
export function encodeSseEvents(events: readonly ResponseStreamEvent[]): Buffer {
  let text = '';
  for (const event of events) text += encodeEvent(event);
  return Buffer.from(text);
}

/**
 * Fast path: deltas, which are nearly all of a stream, are written as template literals with the very bytes that
 * `JSON.stringify` gives, at a third of the cost. An event with a further field (logprobs, padding) is stringified. Ids
 * are generated here and need no escaping. Delete it when `JSON.stringify` of a delta costs less than 1.5 times as much.
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
  return `event: ${event.type}\ndata: ${jsonOf(event)}\n\n`;
}

/** A function of its own, so that the fast path above stays small. */
function jsonOf(event: ResponseStreamEvent): string {
  if (!isExtension(event)) return JSON.stringify(event);
  // The names of such types need no escaping.
  const { type, fields, sequence_number } = event;
  return `{"type":"${type}",${fields === '' ? '' : `${fields},`}"sequence_number":${sequence_number}}`;
}

/** Longer than nearly all tokens; from here on `JSON.stringify` is faster than a loop. */
const shortText = 32;

/** `JSON.stringify(text)`: a token rarely has a character to escape, and a short loop is cheaper than a call into C++. */
function quoted(text: string): string {
  if (text.length > shortText) return JSON.stringify(text);
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    // A quote, a backslash, a control character; surrogates, which may stand alone.
    if (code === 0x22 || code === 0x5c || code < 0x20 || (code >= 0xd800 && code <= 0xdfff))
      return JSON.stringify(text);
  }
  return `"${text}"`;
}
