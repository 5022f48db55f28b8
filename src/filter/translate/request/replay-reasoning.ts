import type { Profile } from '../../upstream/profile.ts';
import type { ChatMessage, OpaqueFields } from '../../wire/schema/chat-request.ts';
import type { Turn } from './assistant-turn.ts';

/**
 * Earlier reasoning in the field the server reads it from: fields for the turn's assistant message; null if the turn has no
 * reasoning that this server would accept. Signed thinking blocks go back whatever the profile's `reasoningReplay`: only
 * the server that sent them gets them, and it refuses a call without them.
 */
export function replayedReasoning(turn: Turn, { reasoningReplay: mode }: Profile): Partial<ChatMessage> | null {
  const text = turn.reasoning.map((item) => item.text).join('');
  const details = mode === 'reasoning_details' ? turn.reasoning.flatMap((item) => item.details) : [];
  const blocks = turn.reasoning.flatMap((item) => item.blocks);
  const own = opaqueFieldsOf(turn, '');
  const reasoning = signedFields(details, blocks) ?? (text === '' ? null : fieldsOfText(text, turn, mode));
  return own === null ? reasoning : { ...reasoning, ...own };
}

function signedFields(details: readonly unknown[], blocks: readonly unknown[]): Partial<ChatMessage> | null {
  if (details.length > 0) return { reasoning_details: details };
  return blocks.length > 0 ? { thinking_blocks: blocks } : null;
}

/** What the upstream wants back with a call of the turn, or with its message (`''`); null for nothing. */
export function opaqueFieldsOf(turn: Turn, callId: string): OpaqueFields | null {
  for (const { fields } of turn.reasoning) {
    if (Object.hasOwn(fields, callId)) return fields[callId] ?? null;
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
