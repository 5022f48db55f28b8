import { jsonOf, objectOf } from '../../formats/json/loose.ts';
import { type AnsweredCall, hasReasoned, type ReadAnswer, readChatAnswer, shortenToLine } from './chat-answer.ts';
import { buildChat } from './chat-body.ts';
import {
  type Answer,
  accepted,
  broken,
  type Finding,
  ignored,
  type Known,
  notTested,
  type Probe,
  type ProbeRequest,
  refused,
} from './findings.ts';

/** A probe of one Chat request, as its group lists it. Errors and broken answers are judged alike for all. */
export interface ChatRow extends Pick<Probe, 'name' | 'asks' | 'essential'>, Partial<Pick<Probe, 'means'>> {
  /** `few` for a probe that judges no content; all others ask for enough tokens to judge a text. */
  readonly tokens?: 'few';
  /** The fields of the Chat request, or the reason why the probe is not needed. */
  readonly sends: Fields | ((known: Known) => Fields | string);
  /** Judges the answer. Without a judge any answer counts as `accepted`. */
  judge?(answer: ReadAnswer, known: Known): Finding;
}

/** A probe that sends other requests than one Chat request. */
export type ProbeRow = Omit<Probe, 'group' | 'requests'> & Partial<Pick<Probe, 'requests'>>;

type Fields = Readonly<Record<string, unknown>>;

export function buildProbe(group: Probe['group'], row: ChatRow | ProbeRow): Probe {
  if ('request' in row) return { requests: 1, ...row, group };
  const { sends, judge, tokens = judge === undefined ? 'few' : 'many', means = {}, ...rest } = row;
  return {
    ...rest,
    group,
    tokens,
    means,
    requests: 1,
    request(known): readonly ProbeRequest[] | string {
      const fields = typeof sends === 'function' ? sends(known) : sends;
      return typeof fields === 'string' ? fields : [buildChat(known, tokens, fields)];
    },
    judge: ([answer], known) => judgeAnswer(answer, (read) => judge?.(read, known) ?? accepted('answered')),
  };
}

/** Judges errors and broken answers to a Chat request; `judge` judges all other answers. */
export function judgeAnswer(answer: Answer, judge: (answer: ReadAnswer) => Finding): Finding {
  const read = readChatAnswer(answer);
  switch (read.type) {
    case 'error':
      return refused(`${read.status}: ${read.message}`, read.status >= 500 ? { serverError: true } : undefined);
    case 'broken':
      return broken(read.message);
    // A slow or overloaded server proves nothing about its profile.
    case 'unanswered':
      return notTested(read.message);
    case 'answer':
      return judge(read);
  }
}

/** Markup of calls that the server did not parse. */
const callMarkup =
  /<tool_call>|<function=|\[TOOL_CALLS\]|<\|python_tag\|>|<\|tool_calls?_(?:begin|section)|<｜tool▁calls?/;

/** The inconclusive finding for an answer that was cut short or is all reasoning; null for any other answer. */
export function judgeSilence(answer: ReadAnswer): Finding | null {
  if (answer.said.trim() !== '' || answer.calls.length > 0) return null;
  const reasoned = hasReasoned(answer);
  if (answer.finish === 'length') {
    const what = reasoned ? ', all of them reasoning' : '';
    return notTested(`the answer's tokens were used up${what}: raise --max-tokens`, { outOfTokens: true });
  }
  return reasoned ? notTested('reasoning only, and no text') : null;
}

/** Judges an answer that should consist of tool calls. `wanted` judges the calls themselves. */
export function judgeCalls(answer: ReadAnswer, wanted: (calls: readonly AnsweredCall[]) => Finding): Finding {
  if (answer.calls.length > 0) {
    const finding = wanted(answer.calls);
    // Arguments that were cut at the token limit are not the server's mistake.
    const whole = answer.finish === 'length' || answer.calls.every(({ arguments: text }) => isObjectText(text));
    return whole ? finding : { ...finding, facts: { ...finding.facts, badArguments: true } };
  }
  const cut = judgeSilence(answer);
  if (cut !== null) return cut;
  if (hasMarkup(answer)) return ignored('the call came as text of the answer', { callAsText: true });
  return ignored(answer.said === '' ? 'no call, and no text' : 'text instead of a call');
}

export function hasMarkup({ text }: ReadAnswer): boolean {
  return callMarkup.test(text);
}

export function describeCalls(calls: readonly AnsweredCall[]): string {
  return calls.map(({ name, arguments: text }) => `${name}(${text.slice(0, 60)})`).join(', ');
}

export function isObjectText(text: string): boolean {
  return objectOf(jsonOf(text)) !== null;
}

export function quoteBeginning(text: string): string {
  return `“${shortenToLine(text, 40)}”`;
}
