import type { Profile } from '../../../upstream/profile.ts';
import type { ChatMessage, ChatToolCall } from '../../../wire/schema/chat-request.ts';

export type Messages = readonly ChatMessage[];

/** One quirk of servers, as a step over the whole conversation. Its input is not changed, and it takes time in proportion to the messages. */
export type MessagePass = readonly [
  run: (messages: Messages, profile: Profile) => Messages,
  appliesTo: (profile: Profile) => boolean,
];

/** The text of a message that a server demands and the conversation lacks. */
export const standIn = '.';

export function mapRole(
  messages: Messages,
  role: ChatMessage['role'],
  change: (message: ChatMessage) => ChatMessage,
): Messages {
  return messages.map((message) => (message.role === role ? change(message) : message));
}

export function calledName(call: ChatToolCall): string {
  return call.type === 'custom' ? call.custom.name : call.function.name;
}
