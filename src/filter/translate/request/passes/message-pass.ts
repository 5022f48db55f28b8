import type { Profile } from '../../../upstream/profile.ts';
import type { ChatMessage, ChatToolCall } from '../../../wire/schema/chat-request.ts';

export type Messages = readonly ChatMessage[];

/** One quirk of servers, as a step over the whole conversation. Its input is not changed. */
export interface MessagePass {
  readonly name: string;
  /** Whether this profile's server has the quirk; elsewhere the pass is not run. */
  appliesTo(profile: Profile): boolean;
  /** Takes time in proportion to the messages. */
  run(messages: Messages, profile: Profile): Messages;
}

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
