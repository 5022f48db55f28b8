import { agentMessageItem, messageItem } from '../../../../wire/schema/create-response.ts';
import type { InputMessage } from '../../../shared/parsed.ts';
import { unsupportedParameter } from '../../../shared/request-errors.ts';
import type { TranslationSettings } from '../../../shared/settings.ts';
import { type ItemType, itemType } from '../input-builder.ts';
import { parseContent } from '../parse-content.ts';

const chatMessageFields = [
  ['tool_calls', 'function_call'],
  ['function_call', 'function_call'],
  ['tool_call_id', 'function_call_output'],
] as const;

const checkedMessage = itemType(
  messageItem,
  ({ role, content, phase }, at, input, own) => {
    const parts = parseContent(content, role, `${at}.content`, input);
    // This service gave an assistant message its phase, and the model can do without it.
    if (phase != null && role !== 'assistant') input.dropped.push('input[].phase');
    // A message without any part that was kept is left out; a message that was empty from the start stays.
    if (parts.length === 0 && content.length > 0) return;
    input.add({ kind: 'message', role, content: parts, ...(own === null ? {} : { extensions: own }) });
  },
  ({ role }, profile) => staysAMessage(role, profile),
);

/** Is the message one in Chat too? Neighbours may be merged, and an assistant message is made of several items. */
function staysAMessage(
  role: InputMessage['role'],
  { alternateRoles, systemMessages }: TranslationSettings['profile'],
): boolean {
  if (role === 'assistant') return false;
  return role === 'user' ? !alternateRoles : systemMessages === 'anywhere';
}

/** Refuses fields of Chat messages, which would silently be missing from the conversation. */
export const message: ItemType = (item, at, input) => {
  for (const [name, instead] of chatMessageFields) {
    const value = item[name];
    if (value == null || (Array.isArray(value) && value.length === 0)) continue;
    const message = `'${at}.${name}' belongs to the Chat Completions API. In the Responses API use items of type '${instead}'.`;
    throw unsupportedParameter(`${at}.${name}`, message);
  }
  checkedMessage(item, at, input);
};

/** A message from one Codex agent to another (multi_agent_v2), which the model reads as the user's. */
export const agentMessage = itemType(agentMessageItem, ({ content }, at, input) => {
  const parts = parseContent(content, 'user', `${at}.content`, input);
  if (parts.length > 0) input.add({ kind: 'message', role: 'user', content: parts });
});
