import type { Profile } from '../../../upstream/profile.ts';
import type { ChatMessage } from '../../../wire/schema/chat-request.ts';
import { mergeMessages, partsOf } from './merge-messages.ts';
import { type Messages, mapRole } from './message-pass.ts';

/** `developer` is `system` where the server does not know the role. */
export function renameDeveloperRole(messages: Messages): Messages {
  return mapRole(messages, 'developer', (message) => ({ ...message, role: 'system' }));
}

/** The leading system messages are one. Where later ones are refused, as by many templates, they become the user’s. */
export function mergeSystemMessages(messages: Messages, profile: Profile): Messages {
  const first = messages[0];
  if (first === undefined) return messages;
  const end = isSystem(first) ? messages.findIndex(({ role }) => role !== first.role) : 1;
  const leading = end === -1 ? messages.length : end;
  const isOnlyLeading = profile.systemMessages === 'leading_only';
  // As nearly all requests are.
  if (leading === 1 && !(isOnlyLeading && messages.findLastIndex(isSystem) > 0)) return messages;
  const later = messages.slice(leading);
  return [mergeMessages([first, ...messages.slice(1, leading)]), ...(isOnlyLeading ? later.map(asUser) : later)];
}

function isSystem({ role }: ChatMessage): boolean {
  return role === 'system' || role === 'developer';
}

function asUser(message: ChatMessage): ChatMessage {
  if (!isSystem(message)) return message;
  const parts = partsOf(message.content ?? '');
  const text = parts.map((part) => (part.type === 'text' ? part.text : '')).join('');
  return { ...message, role: 'user', content: `Developer instructions:\n${text}` };
}
