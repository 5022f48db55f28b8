import type { ChatMessage, ExtraContent } from '../../schema/chat-request.ts';
import type { Profile } from '../../upstream/profile.ts';
import type { Turn } from './turn.ts';

/**
 * Earlier reasoning in the field the server reads it from: fields for the turn's assistant message; null when the turn has
 * no reasoning this server would take.
 */
export function replayedReasoning(turn: Turn, { reasoningReplay: mode }: Profile): Partial<ChatMessage> | null {
  const text = turn.reasoning.map((item) => item.text).join('');
  const details = mode === 'reasoning_details' ? turn.reasoning.flatMap((item) => item.details) : [];
  const reasoning =
    details.length > 0 ? { reasoning_details: details } : text === '' ? null : fieldsOfText(text, turn, mode);
  const own = extraContentOf(turn, '');
  return own === null ? reasoning : { ...reasoning, extra_content: own };
}

/** What the upstream wants back with a call of the turn, or with its message (`''`); null for nothing. */
export function extraContentOf(turn: Turn, callId: string): ExtraContent | null {
  for (const { extraContents } of turn.reasoning) {
    if (Object.hasOwn(extraContents, callId)) return extraContents[callId] ?? null;
  }
  return null;
}

function fieldsOfText(text: string, turn: Turn, mode: Profile['reasoningReplay']): Partial<ChatMessage> | null {
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
