import { arrayOf, objectOf, objectsOf } from '../../../formats/json/loose.ts';
import { type AnswerPart, writeShown } from './answer-parts.ts';

type Fields = Readonly<Record<string, unknown>>;

/** Reads what a Chat request has after its first `from` messages: the user's words, and the results of calls. */
export function readRoundTripWords(chat: unknown, from: number) {
  const later = objectsOf<Fields>(readMessages(chat).slice(from));
  const of = (role: string) => later.filter((message) => message['role'] === role);
  return {
    said: of('user').map(({ content }) => readContentText(content)),
    results: of('tool').map(({ tool_call_id, content }) => ({ callId: tool_call_id, text: readContentText(content) })),
  };
}

/** The number of messages before the user's last one. A conversation whose beginning is unknown starts there. */
export function countBeforeLastUser(chat: unknown): number {
  return readMessages(chat).findLastIndex((message) => objectOf<Fields>(message)?.['role'] === 'user');
}

function readMessages(chat: unknown): readonly unknown[] {
  return arrayOf(objectOf<Fields>(chat)?.['messages']);
}

function readContentText(content: unknown): string {
  if (!Array.isArray(content)) return writeShown(content);
  return objectsOf<Fields>(content)
    .map(({ text, type }) => (text === undefined ? `(${writeShown(type)})` : writeShown(text)))
    .join('\n');
}

/** Finds the result of each call. Where ids repeat, the order decides, because a Chat request makes them different. */
export function findResults(calls: readonly AnswerPart[], results: ReturnType<typeof readRoundTripWords>['results']) {
  // The first of several results with one id is that of the call.
  const byId = new Map(results.toReversed().map((result) => [result.callId, result]));
  const hasIds = calls.some(({ callId }) => byId.has(callId));
  return new Map(calls.map((call, index) => [call, (hasIds ? byId.get(call.callId) : results[index])?.text]));
}
