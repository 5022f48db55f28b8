import { jsonOf, objectOf } from '../../formats/json/loose.ts';
import { type AnsweredCall, hasReasoned, type ReadAnswer, shortenToLine } from './chat-answer.ts';
import { ignored, notTested } from './findings.ts';
import type { Finding } from './probe-types.ts';

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
    // The server is not to blame for arguments that were cut at the limit.
    const whole = answer.finish === 'length' || answer.calls.every(({ arguments: text }) => isObjectText(text));
    return whole ? finding : { ...finding, facts: { ...finding.facts, badArguments: true } };
  }
  const cut = judgeSilence(answer);
  if (cut !== null) return cut;
  if (hasMarkup(answer)) return ignored('the call came as text of the answer', { callAsText: true });
  return ignored(answer.said === '' ? 'no call, and no text' : 'text instead of a call');
}

/** Does the text contain the markup of a call? */
export function hasMarkup({ text }: ReadAnswer): boolean {
  return callMarkup.test(text);
}

/** The calls in a few words. */
export function describeCalls(calls: readonly AnsweredCall[]): string {
  return calls.map(({ name, arguments: text }) => `${name}(${text.slice(0, 60)})`).join(', ');
}

/** Whether the text is a JSON object. */
export function isObjectText(text: string): boolean {
  return objectOf(jsonOf(text)) !== null;
}

export function quoteBeginning(text: string): string {
  return `“${shortenToLine(text, 40)}”`;
}
