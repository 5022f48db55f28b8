import { type AnsweredCall, hasReasoned, type ReadAnswer, readChatAnswer } from './chat-answer.ts';
import type { Answer, Finding } from './probe-types.ts';

/** Markup of calls that the server did not parse. */
const callMarkup =
  /<tool_call>|<function=|\[TOOL_CALLS\]|<\|python_tag\|>|<\|tool_calls?_(?:begin|section)|<｜tool▁calls?/;

/** Judges a Chat answer by what was answered; errors and broken answers are judged here. */
export function judged(answer: Answer | undefined, judge: (answer: ReadAnswer) => Finding): Finding {
  if (answer === undefined) return { result: 'not_tested', detail: 'no request was sent' };
  const read = readChatAnswer(answer);
  switch (read.type) {
    case 'error':
      return {
        result: 'refused',
        detail: `${read.status}: ${read.message}`,
        ...(read.status >= 500 && { facts: { serverError: true } }),
      };
    case 'broken':
      return { result: 'broken', detail: read.message };
    // A slow or overloaded server shows nothing about the profile.
    case 'unanswered':
      return { result: 'not_tested', detail: read.message };
    case 'answer':
      return judge(read);
  }
}

/** Judges by the status alone. */
export function acceptance([answer]: readonly Answer[]): Finding {
  return judged(answer, () => ({ result: 'accepted', detail: 'answered' }));
}

/** An answer without text or call is inconclusive: it was cut, or is all reasoning. Null for others. */
export function sayingNothing(answer: ReadAnswer): Finding | null {
  if (answer.said.trim() !== '' || answer.calls.length > 0) return null;
  const reasoned = hasReasoned(answer);
  if (answer.finish === 'length')
    return {
      result: 'not_tested',
      detail: `the answer's tokens were used up${reasoned ? ', all of them reasoning' : ''}: raise --max-tokens`,
      facts: { outOfTokens: true },
    };
  return reasoned ? { result: 'not_tested', detail: 'reasoning only, and no text' } : null;
}

/** Judges an answer that should be calls; `wanted` says whether they are the right ones. */
export function judgeCalls(answer: ReadAnswer, wanted: (calls: readonly AnsweredCall[]) => Finding): Finding {
  if (answer.calls.length > 0) {
    const finding = wanted(answer.calls);
    // The server is not to blame for arguments that were cut at the limit.
    const whole = answer.finish === 'length' || answer.calls.every(({ arguments: text }) => isObject(text));
    return whole ? finding : { ...finding, facts: { ...finding.facts, badArguments: true } };
  }
  const cut = sayingNothing(answer);
  if (cut !== null) return cut;
  if (showsMarkup(answer))
    return { result: 'ignored', detail: 'the call came as text of the answer', facts: { callAsText: true } };
  return { result: 'ignored', detail: answer.said === '' ? 'no call, and no text' : 'text instead of a call' };
}

/** Does the text contain the markup of a call? */
export function showsMarkup({ text }: ReadAnswer): boolean {
  return callMarkup.test(text);
}

/** The calls in a few words. */
export function describeCalls(calls: readonly AnsweredCall[]): string {
  return calls.map(({ name, arguments: text }) => `${name}(${text.slice(0, 60)})`).join(', ');
}

export function isObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}

/** The first words of a text, in quotes. */
export function quote(text: string): string {
  const line = text.replace(/[\p{Cc}\p{Cf}\s]+/gu, ' ').trim();
  return `“${line.length > 40 ? `${line.slice(0, 40)}…` : line}”`;
}
