import type { Profile } from '../../../upstream/profile.ts';
import type { ChatMessage } from '../../../wire/schema/chat-request.ts';
import { carry } from '../../shared/provenance.ts';
import { type Messages, mapRole } from './message-pass.ts';

/** The role `developer` is `system` for a server that does not know it. */
export function renameDeveloperRole(messages: Messages): Messages {
  return mapRole(messages, 'developer', (message) => ({ ...message, role: 'system' }));
}

/** Merges the leading system messages. Later ones, which many templates refuse, become the user's. */
export function mergeSystemMessages(messages: Messages, profile: Profile): Messages {
  const first = messages[0];
  if (first === undefined) return messages;
  const end = isSystem(first) ? messages.findIndex(({ role }) => role !== first.role) : 1;
  const leading = end === -1 ? messages.length : end;
  const isOnlyLeading = profile.systemMessages === 'leading_only';
  if (leading === 1 && !(isOnlyLeading && messages.findLastIndex(isSystem) > 0)) return messages;
  const later = messages.slice(leading);
  return [mergeMessages([first, ...messages.slice(1, leading)]), ...(isOnlyLeading ? later.map(asUser) : later)];
}

function isSystem({ role }: ChatMessage): boolean {
  return role === 'system' || role === 'developer';
}

function asUser(message: ChatMessage): ChatMessage {
  if (!isSystem(message)) return message;
  const parts = listParts(message.content ?? '');
  const text = parts.map((part) => (part.type === 'text' ? part.text : '')).join('');
  return { ...message, role: 'user', content: `Developer instructions:\n${text}` };
}

/** Merges messages of one role, with a blank line between texts. Only the last message may have calls, since their outputs follow. */
export function mergeMessages(messages: readonly [ChatMessage, ...ChatMessage[]]): ChatMessage {
  if (messages.length === 1) return messages[0];
  const merged: ChatMessage = Object.assign({}, ...messages);
  const details = messages.flatMap(({ reasoning_details = [] }) => reasoning_details);
  const blocks = messages.flatMap(({ thinking_blocks = [] }) => thinking_blocks);
  const written: ChatMessage = {
    ...merged,
    ...mergedContent(messages, merged.content),
    ...mergedText('refusal', messages),
    ...mergedText('reasoning', messages),
    ...mergedText('reasoning_content', messages),
    ...(details.length === 0 ? {} : { reasoning_details: details }),
    ...(blocks.length === 0 ? {} : { thinking_blocks: blocks }),
  };
  for (const message of messages) carry(written, message);
  return written;
}

type Content = NonNullable<ChatMessage['content']>;
type Parts = Exclude<Content, string>;

function mergedContent(messages: readonly ChatMessage[], last: ChatMessage['content']): Pick<ChatMessage, 'content'> {
  const contents = messages.flatMap(({ content }) => (content == null || content === '' ? [] : [content]));
  if (contents.length === 0) return last === undefined ? {} : { content: last };
  const firstParts = contents.findIndex((content) => typeof content !== 'string');
  const text = contents.slice(0, firstParts === -1 ? contents.length : firstParts).join('\n\n');
  if (firstParts === -1) return { content: text };
  return { content: [...(text === '' ? [] : listParts(text)), ...contents.slice(firstParts).flatMap(listParts)] };
}

function listParts(content: Content): Parts {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content;
}

function mergedText(
  field: 'refusal' | 'reasoning' | 'reasoning_content',
  messages: readonly ChatMessage[],
): Partial<ChatMessage> {
  const texts = messages.map((message) => message[field]).filter((text) => text !== undefined && text !== '');
  return texts.length === 0 ? {} : { [field]: texts.join('\n\n') };
}
