import type { ChatMessage } from '../../../wire/schema/chat-request.ts';
import { type Messages, standIn } from './message-pass.ts';

/**
 * An assistant message with nothing in it is left out: no text but white space, no refusal, no call, no reasoning. Clients
 * repeat the empty answer of a model, and Kimi, Mistral and Anthropic refuse every later request for it (CLIProxyAPI#1730,
 * OpenHands#8685). Runs after the reasoning to send back is known, and before the turns around it are merged.
 */
export function leaveOutEmptyTurns(messages: Messages): Messages {
  if (!messages.some(isEmptyTurn)) return messages;
  const spoken = messages.filter((message) => !isEmptyTurn(message));
  return spoken.length === 0 ? [{ role: 'user', content: standIn }] : spoken;
}

function isEmptyTurn(message: ChatMessage): boolean {
  if (message.role !== 'assistant' || !isBlank(message.content)) return false;
  return carrying.every((field) => isNothing(message[field]));
}

/** The fields that make a message more than its text. */
const carrying = [
  'tool_calls',
  'refusal',
  'reasoning',
  'reasoning_content',
  'reasoning_details',
  'thinking_blocks',
  'extra_content',
  'provider_specific_fields',
] as const;

function isNothing(value: unknown): boolean {
  return value === undefined || value === '' || (Array.isArray(value) && value.length === 0);
}

function isBlank(content: ChatMessage['content']): boolean {
  if (typeof content === 'string') return content.trim() === '';
  return content == null || content.every((part) => part.type === 'text' && part.text.trim() === '');
}
