import type { Profile } from '../../../upstream/profile.ts';
import type { ChatMessage, ChatToolCall } from '../../../wire/schema/chat-request.ts';

export type Messages = readonly ChatMessage[];

/**
 * One quirk of servers, as a step over the whole conversation: its input is not changed, and it takes time in proportion to the
 * messages. It is run where the profile's server has the quirk.
 */
export type MessagePass = readonly [
  run: (messages: Messages, profile: Profile) => Messages,
  appliesTo: (profile: Profile) => boolean,
];

/** Used where a server demands a message and the conversation has none. */
export const standIn = '.';

/** The messages, with those replaced for which `change` returns another. */
export function mapRole(
  messages: Messages,
  role: ChatMessage['role'],
  change: (message: ChatMessage) => ChatMessage,
): Messages {
  return messages.map((message) => (message.role === role ? change(message) : message));
}

/** The name of the called tool. */
export function nameOfCall(call: ChatToolCall): string {
  return call.type === 'custom' ? call.custom.name : call.function.name;
}
