import type { ChatContentPart, ChatMessage } from '../../../wire/schema/chat-request.ts';
import { calledName, type Messages, mapRole } from './message-pass.ts';

export function nameToolMessages(messages: Messages): Messages {
  let names = new Map<string | undefined, string>();
  return messages.map((message) => {
    if (message.tool_calls !== undefined)
      names = new Map(message.tool_calls.map((call) => [call.id, calledName(call)]));
    const name = message.role === 'tool' ? names.get(message.tool_call_id) : undefined;
    return name === undefined ? message : { ...message, name };
  });
}

/** A tool message holds text alone: other parts of a round's outputs follow in one message of the user's. */
export function moveToolMedia(messages: Messages): Messages {
  if (!messages.some(hasMedia)) return messages;
  const written: ChatMessage[] = [];
  let attached: ChatContentPart[] = [];
  for (const message of messages) {
    if (message.role !== 'tool' && attached.length > 0) {
      written.push({ role: 'user', content: attached });
      attached = [];
    }
    written.push(hasMedia(message) ? withoutMedia(message, attached) : message);
  }
  if (attached.length > 0) written.push({ role: 'user', content: attached });
  return written;
}

function hasMedia({ role, content }: ChatMessage): boolean {
  return role === 'tool' && Array.isArray(content);
}

function withoutMedia(message: ChatMessage, attached: ChatContentPart[]): ChatMessage {
  const parts = message.content as readonly ChatContentPart[]; // `hasMedia`
  const media = parts.filter(({ type }) => type !== 'text');
  attached.push({ type: 'text', text: `Output of tool call ${message.tool_call_id}:` }, ...media);
  const text = parts.map((part) => (part.type === 'text' ? part.text : '')).join('');
  const attachment = media.every(({ type }) => type === 'image_url') ? 'image' : 'file';
  return { ...message, content: text === '' ? `[${attachment} attached below]` : text };
}

/** An assistant message holds one call: each of several gets a message of its own, followed by its output. */
export function splitCalls(messages: Messages): Messages {
  const written: ChatMessage[] = [];
  let calls: ChatMessage['tool_calls'] = [];
  let next = 0;
  for (const message of messages) {
    if (message.tool_calls !== undefined) {
      calls = message.tool_calls;
      next = 1;
      written.push({ ...message, tool_calls: calls.slice(0, 1) });
      continue;
    }
    written.push(message);
    const call = calls[next];
    if (message.role !== 'tool' || call === undefined) continue;
    written.push({ role: 'assistant', content: null, tool_calls: [call] });
    next++;
  }
  return written;
}

/** The `content` of an assistant message that holds only calls is `''` instead of null. */
export function fillNullContent(messages: Messages): Messages {
  return mapRole(messages, 'assistant', (message) =>
    message.content === null && message.refusal === undefined ? { ...message, content: '' } : message,
  );
}
