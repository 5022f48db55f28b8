import type { Profile } from '../../upstream/profile.ts';
import type { ChatContentPart, ChatMessage, ChatToolCall } from '../../wire/schema/chat-request.ts';
import { upstreamCallId } from '../call-ids.ts';
import type { Turn } from './assistant-turn.ts';
import { chatToolName } from './chat-tool-name.ts';
import { chatPartsOf, isPlainText, joinText } from './content-to-chat.ts';
import type { PairedCall } from './pair-calls.ts';
import type { InputContent, InputMessage } from './parsed.ts';
import { opaqueFieldsOf, replayedReasoning } from './replay-reasoning.ts';
import type { ToolTable } from './tools-to-chat.ts';
import { carry } from './trace.ts';

/** A user, system or developer message as Chat's. */
export function chatMessageOf(item: InputMessage, profile: Profile): ChatMessage {
  const message: ChatMessage = { role: item.role, content: contentOf(item, profile) };
  carry(message, item);
  return message;
}

function contentOf({ role, content }: InputMessage, profile: Profile): string | ChatContentPart[] {
  if (role === 'user') return userContent(content, profile);
  const isText = !profile.arrayContent || isPlainText(content);
  return isText ? joinText(content) : chatPartsOf(content);
}

function userContent(content: readonly InputContent[], profile: Profile): string | ChatContentPart[] {
  if (isPlainText(content) && (content.length <= 1 || !profile.arrayContent)) return joinText(content);
  // Anthropic and Bedrock, also behind routers, refuse a text part without text.
  const parts = chatPartsOf(content).filter((part) => part.type !== 'text' || part.text !== '');
  return parts.length > 0 ? parts : '';
}

/**
 * An assistant's turn: its message, if it has any content; a tool message for each of its calls, with parts if an output is
 * more than text; and the messages that had to wait for the outputs.
 */
export function messagesOfTurn(turn: Turn, profile: Profile, tools: ToolTable): readonly ChatMessage[] {
  const calls = turn.calls.map((call) => {
    const written = toolCallOf(call, turn, profile, tools);
    carry(written, call);
    return written;
  });
  const replayed = replayedReasoning(turn, profile);
  const isEmpty = turn.text === null && turn.refusal === null && calls.length === 0 && replayed === null;
  const assistant: ChatMessage = {
    role: 'assistant',
    content: turn.text || (turn.refusal === null && calls.length === 0 ? '' : null),
    ...(turn.refusal === null ? {} : { refusal: turn.refusal }),
    ...(turn.phase === null ? {} : { phase: turn.phase }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
    ...replayed,
  };
  carry(assistant, turn);
  for (const key in replayed) for (const earlier of turn.reasoning) carry(assistant, earlier, key);
  return [
    ...(isEmpty ? [] : [assistant]),
    ...turn.calls.map(toolMessageOf),
    ...turn.deferred.map((item) => chatMessageOf(item, profile)),
  ];
}

function toolCallOf(call: PairedCall, turn: Turn, profile: Profile, tools: ToolTable): ChatToolCall {
  const { callId, takesText, input } = call;
  const id = upstreamCallId(callId);
  const name = chatNameOf(call, profile, tools);
  const kept = opaqueFieldsOf(turn, callId);
  if (!takesText) return { id, type: 'function', function: { name, arguments: input }, ...kept };
  if (profile.customTools === 'native') return { id, type: 'custom', custom: { name, input }, ...kept };
  return { id, type: 'function', function: { name, arguments: JSON.stringify({ input }) }, ...kept };
}

/** The name its tool is offered by in this request, or would be. */
function chatNameOf({ name, namespace }: PairedCall, profile: Profile, tools: ToolTable): string {
  return tools.find(name, namespace)?.name ?? chatToolName(name, namespace, profile);
}

function toolMessageOf({ callId, outputs }: PairedCall): ChatMessage {
  const text = outputs
    .map((parts) => joinText(parts))
    .filter((output) => output !== '')
    .join('\n');
  const media = chatPartsOf(outputs.flat()).filter(({ type }) => type !== 'text');
  const parts = text === '' ? media : [{ type: 'text', text } as const, ...media];
  const message: ChatMessage = {
    role: 'tool',
    tool_call_id: upstreamCallId(callId),
    content: media.length === 0 ? text : parts,
  };
  for (const output of outputs) carry(message, output);
  return message;
}
