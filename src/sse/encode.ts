import { Buffer } from 'node:buffer';
import type { ResponseStreamEvent } from '../schema/stream-events.ts';

/** The last line of every stream: the literal the specification demands. */
export const DONE = Buffer.from('data: [DONE]\n\n');

/** A comment: keeps idle timers alive, no client shows it. */
export const KEEPALIVE = Buffer.from(': keepalive\n\n');

/**
 * Events as the bytes of a stream, all in one piece: `event:` repeats the type (Open Responses demands it), the data is
 * one line of JSON, an event is never cut, because some clients' parsers lose one that is.
 */
export function encodeSseEvents(events: readonly ResponseStreamEvent[]): Buffer {
  let text = '';
  for (const event of events) text += textOf(event);
  return Buffer.from(text);
}

/**
 * The deltas that make up nearly all of a stream are written by hand, as `JSON.stringify` would: a third of the cost, if
 * each is a literal of its own. Any further field (logprobs, padding) takes the general way. Ids are ours, letters and
 * digits.
 */
function textOf(event: ResponseStreamEvent): string {
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
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}

/** Longer than tokens are: then a search in machine code is worth its call. */
const shortText = 32;

/** `JSON.stringify(text)`: a token seldom has a letter to escape, and to look is cheaper than to leave JavaScript. */
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
