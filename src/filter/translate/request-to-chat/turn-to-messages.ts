import type { Profile } from '../../upstream/profile.ts';
import type { ChatContentPart, ChatMessage, ChatToolCall, OpaqueFields } from '../../wire/schema/chat-request.ts';
import { upstreamCallId } from '../shared/call-ids.ts';
import { chatToolName } from '../shared/chat-tool-name.ts';
import type { InputContent, InputMessage } from '../shared/parsed.ts';
import { carry, carryKeys } from '../shared/provenance.ts';
import { chatPartsOf, isPlainText, joinText } from './content-to-chat.ts';
import type { EarlierReasoning } from './earlier-reasoning.ts';
import type { PairedCall } from './pair-calls.ts';
import type { ToolTable } from './tools-to-chat.ts';

/** Parts of one assistant message. */
export class AssistantTurn {
  readonly reasoning: EarlierReasoning[] = [];
  /** How much of the reasoning came before the text. */
  reasoningBeforeText = 0;
  text: string | null = null;
  refusal: string | null = null;
  readonly calls: PairedCall[] = [];
  /** The ids of its calls: one message may hold each only once. */
  readonly callIds = new Set<string>();
  /** Calls whose output has not been reached yet. */
  readonly waiting = new Set<PairedCall>();
  /** An output of this turn has been reached: what follows is the model's next turn, made with that output. */
  answered = false;
  /** Messages that stood between calls and outputs: they follow the outputs. */
  readonly deferred: InputMessage[] = [];
}

/** A user, system or developer message as Chat's. */
export function chatMessageOf(item: InputMessage, profile: Profile): ChatMessage {
  const message: ChatMessage = { role: item.role, content: contentOf(item, profile), ...item.extensions };
  carry(message, item);
  carryKeys(message, item, { role: 'role', content: 'content' });
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

/** The assistant’s message, if it has content; a tool message for each call; and those that waited for the outputs. */
export function messagesOfTurn(turn: AssistantTurn, profile: Profile, tools: ToolTable): readonly ChatMessage[] {
  const calls = turn.calls.map((call) => {
    const written = toolCallOf(call, turn, profile, tools);
    carry(written, call);
    carryKeys(written, call, { id: 'call_id' });
    return written;
  });
  const replayed = replayedReasoning(turn, profile);
  const isEmpty = turn.text === null && turn.refusal === null && calls.length === 0 && replayed === null;
  const assistant: ChatMessage = {
    role: 'assistant',
    content: turn.text || (turn.refusal === null && calls.length === 0 ? '' : null),
    ...(turn.refusal === null ? {} : { refusal: turn.refusal }),
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

function toolCallOf(call: PairedCall, turn: AssistantTurn, profile: Profile, tools: ToolTable): ChatToolCall {
  const { callId, takesText, input } = call;
  const id = upstreamCallId(callId);
  const name = tools.find(call.name, call.namespace)?.name ?? chatToolName(call.name, call.namespace, profile);
  const kept = opaqueFieldsOf(turn, callId);
  if (!takesText) {
    const called = { name, arguments: input };
    carryKeys(called, call, { name: 'name', arguments: 'arguments' });
    return { id, type: 'function', function: called, ...kept };
  }
  if (profile.customTools === 'native') {
    const called = { name, input };
    carryKeys(called, call, { name: 'name', input: 'input' });
    return { id, type: 'custom', custom: called, ...kept };
  }
  return { id, type: 'function', function: { name, arguments: JSON.stringify({ input }) }, ...kept };
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
  for (const output of outputs) {
    carry(message, output);
    carryKeys(message, output, { tool_call_id: 'call_id', content: 'output' });
  }
  return message;
}

/**
 * Earlier reasoning in the field the server reads it from: fields for the turn's assistant message; null if the turn has no
 * reasoning that this server would accept. Signed thinking blocks go back whatever the profile's `reasoningReplay`: only
 * the server that sent them gets them, and it refuses a call without them.
 */
function replayedReasoning(turn: AssistantTurn, { reasoningReplay: mode }: Profile): Partial<ChatMessage> | null {
  const text = turn.reasoning.map((item) => item.text).join('');
  const details = mode === 'reasoning_details' ? turn.reasoning.flatMap((item) => item.details) : [];
  const blocks = turn.reasoning.flatMap((item) => item.blocks);
  const own = opaqueFieldsOf(turn, '');
  let reasoning = text === '' ? null : fieldsOfText(text, turn, mode);
  if (details.length > 0) reasoning = { reasoning_details: details };
  else if (blocks.length > 0) reasoning = { thinking_blocks: blocks };
  return own === null ? reasoning : { ...reasoning, ...own };
}

/** Returns the fields that the upstream wants back with a call of the turn, or with its message (`''`); null for nothing. */
function opaqueFieldsOf(turn: AssistantTurn, callId: string): OpaqueFields | null {
  for (const { fields } of turn.reasoning) {
    if (Object.hasOwn(fields, callId)) return fields[callId] ?? null;
  }
  return null;
}

function fieldsOfText(
  text: string,
  turn: AssistantTurn,
  mode: Profile['reasoningReplay'],
): Partial<ChatMessage> | null {
  switch (mode) {
    case 'none':
      return null;
    case 'reasoning_content':
      return { reasoning_content: text };
    case 'reasoning':
    case 'reasoning_details':
      return { reasoning: text };
    case 'both':
      return { reasoning: text, reasoning_content: text };
    case 'mistral_thinking': {
      const thinking = { type: 'thinking', thinking: [{ type: 'text', text }] } as const;
      return { content: turn.text ? [thinking, { type: 'text', text: turn.text }] : [thinking] };
    }
  }
}
