import type { ChatMessage, ChatToolCall, ExtraContent } from '../../schema/chat-request.ts';
import type { Profile } from '../../upstream/profile.ts';
import { googleExtra, signatureOf } from '../reasoning-envelope.ts';
import type { Turn } from './turn.ts';

/** Gives earlier reasoning back in the field the server reads it from. */
export interface ReasoningReplay {
  /** Fields for the turn's assistant message; null when the turn has no reasoning this server would take. */
  fieldsOf(turn: Turn): Partial<ChatMessage> | null;
  /** The turn's calls with what their upstream wants back with them. */
  signed(calls: ChatToolCall[], turn: Turn): ChatToolCall[];
  /** Applies what depends on the whole conversation: scope and backfill. `lastQuestion` is the index of the user's last message. */
  finish(messages: ChatMessage[], lastQuestion: number): ChatMessage[];
}

/** Tells Gemini that a call was made without a signature (Google's documented value). */
const noSignature = 'skip_thought_signature_validator';

export function createReasoningReplay(profile: Profile): ReasoningReplay {
  const { reasoningReplay: mode, reasoningBackfill: backfill } = profile;

  function fieldsOf(turn: Turn): Partial<ChatMessage> | null {
    const text = turn.reasoning.map((item) => item.text).join('');
    const details = mode === 'reasoning_details' ? turn.reasoning.flatMap((item) => item.details) : [];
    const reasoning =
      details.length > 0 ? { reasoning_details: details } : text === '' ? null : fieldsOfText(text, turn);
    const own = extraContentOf(turn, '');
    return own === null ? reasoning : { ...reasoning, extra_content: own };
  }

  function fieldsOfText(text: string, turn: Turn): Partial<ChatMessage> | null {
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

  function signed(calls: ChatToolCall[], turn: Turn): ChatToolCall[] {
    if (calls.length === 0) return calls;
    const contents = turn.calls.map(({ callId }) => extraContentOf(turn, callId));
    // Of parallel calls only the first is signed; a turn of another provider has no signature at all.
    const isSigned = contents.some((content) => content !== null && signatureOf(content) !== '');
    if (profile.geminiSignatures && !isSigned) contents[0] = { ...contents[0], ...googleExtra(noSignature) };
    return calls.map((call, index) => {
      const content = contents[index] ?? null;
      return content === null ? call : { ...call, extra_content: content };
    });
  }

  function finish(messages: ChatMessage[], lastQuestion: number): ChatMessage[] {
    if (mode === 'none' || (profile.reasoningScope === 'all' && backfill === null)) return messages;
    return messages.map((message, index) => {
      if (message.role !== 'assistant') return message;
      if (profile.reasoningScope === 'tool_turns' && index < lastQuestion) return withoutReasoning(message);
      const wanted = backfill !== null && (backfill.on === 'all' || message.tool_calls !== undefined);
      return wanted && message.reasoning_content === undefined
        ? { ...message, reasoning_content: backfill.text }
        : message;
    });
  }

  return { fieldsOf, signed, finish };
}

function extraContentOf(turn: Turn, callId: string): ExtraContent | null {
  for (const { extraContents } of turn.reasoning) {
    if (Object.hasOwn(extraContents, callId)) return extraContents[callId] ?? null;
  }
  return null;
}

function withoutReasoning(message: ChatMessage): ChatMessage {
  const { reasoning_content: _content, reasoning: _reasoning, reasoning_details: _details, ...kept } = message;
  return kept;
}
