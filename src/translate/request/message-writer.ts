import { createHash } from 'node:crypto';
import type { ChatContentPart, ChatMessage, ChatToolCall } from '../../schema/chat-request.ts';
import type { Profile } from '../../upstream/profile.ts';
import { chatPartsOf, isPlainText, joinText } from './content.ts';
import { mergeMessages } from './merge-messages.ts';
import type { PairedCall } from './pairing.ts';
import type { InputContent, InputMessage } from './parsed.ts';
import { createReasoningReplay } from './reasoning-replay.ts';
import { flattenToolName } from './tool-name.ts';
import type { ToolTable } from './tools.ts';
import type { Turn } from './turn.ts';

/** Writes Chat messages in the form the profile's server takes. */
export interface MessageWriter {
  /** A user, system or developer message. */
  message(item: InputMessage): void;
  /** An assistant's turn with its tool messages, and what had to wait for them. */
  turn(turn: Turn): void;
  finish(): ChatMessage[];
}

/** An empty list of messages. */
export function createMessageWriter(profile: Profile, tools: ToolTable): MessageWriter {
  const messages: ChatMessage[] = [];
  const replay = createReasoningReplay(profile);
  /** Index of the user's last message; -1 for none. Messages written here in the user's role do not count. */
  let lastQuestion = -1;

  function push(message: ChatMessage): void {
    const last = messages.at(-1);
    const speaks = message.role === 'user' || message.role === 'assistant';
    if (profile.alternateRoles && speaks && last?.role === message.role) {
      messages[messages.length - 1] = mergeMessages(last, message);
      return;
    }
    // Mistral refuses any other role right after a tool message.
    if ((profile.assistantAfterTool || profile.alternateRoles) && last?.role === 'tool' && !speaksAfterTool(message)) {
      messages.push({ role: 'assistant', content: standIn });
    }
    if (profile.alternateRoles && message.role === 'assistant' && !messages.some(isUsers)) {
      messages.push({ role: 'user', content: standIn });
    }
    messages.push(message);
  }

  function message({ role, content }: InputMessage): void {
    if (role === 'user') {
      push({ role, content: userContent(content) });
      lastQuestion = messages.length - 1;
      return;
    }
    const chatRole = role === 'developer' && profile.developerRole === 'keep' ? 'developer' : 'system';
    const text = joinText(content);
    const last = messages.at(-1);
    if (profile.systemMessages !== 'anywhere' && messages.length === 1 && last?.role === chatRole) {
      messages[0] = { role: chatRole, content: `${last.content}\n\n${text}` }; // chatRole's content is always text here
      return;
    }
    // Many chat templates allow a system message in the first place only.
    if (profile.systemMessages === 'leading_only' && messages.length > 0) {
      push({ role: 'user', content: `Developer instructions:\n${text}` });
      return;
    }
    push({
      role: chatRole,
      content: profile.arrayContent && !isPlainText(content) ? chatPartsOf(content, profile) : text,
    });
  }

  function userContent(content: readonly InputContent[]): string | ChatContentPart[] {
    if (isPlainText(content) && (content.length <= 1 || !profile.arrayContent)) return joinText(content);
    // Anthropic and Bedrock, also behind routers, refuse a text part without text.
    const parts = chatPartsOf(content, profile).filter((part) => part.type !== 'text' || part.text !== '');
    return parts.length > 0 ? parts : '';
  }

  function turn(open: Turn): void {
    const calls = open.calls.map((call) => ({ call, id: chatId(call.callId) }));
    const toolCalls = replay.signed(
      calls.map(({ call, id }) => toolCall(call, id)),
      open,
    );
    const hasContent = open.text !== null || open.refusal !== null || toolCalls.length > 0;
    const replayed = replay.fieldsOf(open);
    if (hasContent || replayed !== null) {
      const text = open.text ?? '';
      push({
        role: 'assistant',
        ...contentOf(text, open, toolCalls.length > 0),
        ...(open.refusal === null ? {} : { refusal: open.refusal }),
        ...(open.phase === null ? {} : { phase: open.phase }),
        ...(toolCalls.length === 0 ? {} : { tool_calls: profile.singleCalls ? toolCalls.slice(0, 1) : toolCalls }),
        ...replayed,
      });
    }
    const images: ChatContentPart[] = [];
    calls.forEach(({ call, id }, index) => {
      if (profile.singleCalls && index > 0) {
        push({ role: 'assistant', ...contentOf('', open, true), tool_calls: toolCalls.slice(index, index + 1) });
      }
      push(toolMessage(call, id, images));
    });
    if (images.length > 0) push({ role: 'user', content: images });
    for (const item of open.deferred) message(item);
  }

  function contentOf(text: string, open: Turn, hasCalls: boolean): Pick<ChatMessage, 'content'> {
    if (text !== '') return { content: text };
    if (open.refusal !== null) return { content: null }; // the refusal is a field of its own
    if (!hasCalls) return { content: '' };
    return { content: profile.emptyAssistantContent === 'null' ? null : '' };
  }

  function toolCall(call: PairedCall, id: string): ChatToolCall {
    const name = chatName(call);
    if (call.toolKind !== 'custom') return { id, type: 'function', function: { name, arguments: call.input } };
    if (profile.customTools === 'native') return { id, type: 'custom', custom: { name, input: call.input } };
    return { id, type: 'function', function: { name, arguments: JSON.stringify({ input: call.input }) } };
  }

  /** The name its tool is offered by in this request, or would be. */
  function chatName({ name, namespace }: PairedCall): string {
    return tools.find(name, namespace)?.name ?? (namespace ? flattenToolName(namespace, name) : name);
  }

  /** A tool message with the text of the call's outputs; other parts are added to `attached`. */
  function toolMessage(call: PairedCall, id: string, attached: ChatContentPart[]): ChatMessage {
    const content = call.outputs.flat();
    const other = chatPartsOf(content, profile).filter(({ type }) => type !== 'text');
    const text = call.outputs
      .map((parts) => joinText(parts))
      .filter((output) => output !== '')
      .join('\n');
    if (other.length > 0) attached.push({ type: 'text', text: `Output of tool call ${id}:` });
    for (const part of other) attached.push(part);
    return {
      role: 'tool',
      tool_call_id: id,
      ...(profile.toolMessageName ? { name: chatName(call) } : {}),
      content: text === '' && other.length > 0 ? placeholderOf(other) : text,
    };
  }

  function chatId(callId: string): string {
    return profile.nineCharacterIds ? nineCharacterId(callId) : callId;
  }

  return {
    message,
    turn,
    finish() {
      if (profile.needsUser && messages.length > 0 && !messages.some(isUsers)) {
        const leading = messages[0]?.role === 'system' || messages[0]?.role === 'developer' ? 1 : 0;
        messages.splice(leading, 0, { role: 'user', content: standIn });
      }
      if (profile.alternateRoles) {
        // Their templates refuse an assistant message that has neither text nor calls.
        messages.forEach((message, index) => {
          if (message.role !== 'assistant' || message.content !== '' || message.tool_calls !== undefined) return;
          messages[index] = { ...message, content: standIn };
        });
      }
      const last = messages.at(-1);
      if (profile.assistantPrefix && last?.role === 'assistant' && last.tool_calls === undefined) {
        messages[messages.length - 1] = { ...last, prefix: true };
      }
      return replay.finish(messages, lastQuestion);
    },
  };
}

function placeholderOf(parts: readonly ChatContentPart[]): string {
  return parts.every(({ type }) => type === 'image_url') ? '[image attached below]' : '[file attached below]';
}

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

/** Mistral's ids: nine letters or digits. Others get a hash, the same for the same id. */
function nineCharacterId(callId: string): string {
  if (/^[A-Za-z0-9]{9}$/.test(callId)) return callId;
  const hash = createHash('sha256').update(callId).digest();
  return Array.from(hash.subarray(0, 9), (byte) => alphabet[byte % alphabet.length]).join('');
}

/** Stands where a server demands a message and the conversation has none. */
const standIn = '.';

function isUsers({ role }: ChatMessage): boolean {
  return role === 'user';
}

function speaksAfterTool({ role }: ChatMessage): boolean {
  return role === 'assistant' || role === 'tool';
}
