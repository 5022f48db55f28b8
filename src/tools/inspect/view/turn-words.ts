import { type AnswerPart, fieldsIn, fieldsOf, shown } from './answer-parts.ts';

/** Returns what came with a turn's Chat request behind its first `from` messages: the user's words, and results of calls. */
export function turnWords(chat: unknown, from: number) {
  const later = fieldsIn(fieldsOf(chat)['messages']).slice(from);
  const of = (role: string) => later.filter((message) => message['role'] === role);
  return {
    said: of('user').map(({ content }) => contentText(content)),
    results: of('tool').map(({ tool_call_id, content }) => ({ callId: tool_call_id, text: contentText(content) })),
  };
}

/** How many messages come before the user's last one, with which a conversation begins whose turns before are not known. */
export function beforeLastUser(chat: unknown): number {
  return fieldsIn(fieldsOf(chat)['messages']).findLastIndex(({ role }) => role === 'user');
}

function contentText(content: unknown): string {
  if (!Array.isArray(content)) return shown(content);
  return fieldsIn(content)
    .map(({ text, type }) => (text === undefined ? `(${shown(type)})` : shown(text)))
    .join('\n');
}

/**
 * The result of each of these calls, where it is known. In a Chat request, ids that a server gave twice are made different: then
 * the order tells.
 */
export function resultsOf(calls: readonly AnswerPart[], results: ReturnType<typeof turnWords>['results']) {
  const find = (call: AnswerPart) => results.find(({ callId }) => callId === call.callId);
  const hasIds = calls.some((call) => find(call) !== undefined);
  return new Map(calls.map((call, index) => [call, (hasIds ? find(call) : results[index])?.text]));
}
