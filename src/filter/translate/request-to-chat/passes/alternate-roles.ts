import type { ChatMessage } from '../../../wire/schema/chat-request.ts';
import { mergeMessages } from './merge-messages.ts';
import { type Messages, mapRole, standIn } from './message-pass.ts';

/** Some servers let only an assistant or another tool speak after a tool message. */
export function insertAssistantAfterTool(messages: Messages): Messages {
  return messages.flatMap((message, index) => {
    const isMissing = messages[index - 1]?.role === 'tool' && message.role !== 'assistant' && message.role !== 'tool';
    return isMissing ? [{ role: 'assistant', content: standIn }, message] : [message];
  });
}

/** Merges neighbours of one role, user or assistant. */
export function alternateRoles(messages: Messages): Messages {
  const runs: [ChatMessage, ...ChatMessage[]][] = [];
  for (const message of messages) {
    const run = runs.at(-1);
    const speaks = message.role === 'user' || message.role === 'assistant';
    if (speaks && run?.[0].role === message.role) run.push(message);
    else runs.push([message]);
  }
  return runs.map(mergeMessages);
}

/** Inserts a message of the user's before a conversation that begins with the assistant. */
export function beginWithUser(messages: Messages): Messages {
  const first = messages.findIndex(({ role }) => role === 'assistant' || role === 'user');
  return messages[first]?.role === 'assistant' ? messages.toSpliced(first, 0, question) : messages;
}

/** Inserts a message of the user's where there is none. */
export function addUser(messages: Messages): Messages {
  if (messages.length === 0 || messages.some(({ role }) => role === 'user')) return messages;
  const leading = messages[0]?.role === 'system' || messages[0]?.role === 'developer' ? 1 : 0;
  return messages.toSpliced(leading, 0, question);
}

const question: ChatMessage = { role: 'user', content: standIn };

/**
 * An assistant message has text or calls: templates that count messages demand it, and Kimi refuses a message with neither. A message that
 * was cut while the model reasoned has only its reasoning.
 */
export function fillSilentAssistant(messages: Messages): Messages {
  return mapRole(messages, 'assistant', (message) =>
    message.content === '' && message.tool_calls === undefined ? { ...message, content: standIn } : message,
  );
}

/** The model continues a last assistant message only when it is marked as a prefix. */
export function markPrefix(messages: Messages): Messages {
  const last = messages.at(-1);
  if (last?.role !== 'assistant' || last.tool_calls !== undefined) return messages;
  return messages.with(-1, { ...last, prefix: true });
}

/**
 * Leaves out an assistant message without text, refusal, calls and reasoning. Clients repeat the empty answer of a model, and Kimi, Mistral
 * and Anthropic refuse every later request for it (CLIProxyAPI#1730, OpenHands#8685).
 */
export function leaveOutEmptyMessages(messages: Messages): Messages {
  if (!messages.some(isEmptyMessage)) return messages;
  const spoken = messages.filter((message) => !isEmptyMessage(message));
  return spoken.length === 0 ? [{ role: 'user', content: standIn }] : spoken;
}

function isEmptyMessage(message: ChatMessage): boolean {
  if (message.role !== 'assistant' || !isBlank(message.content)) return false;
  return carrying.every((field) => isNothing(message[field]));
}

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
