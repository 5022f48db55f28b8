import type { ReadAnswer } from '../chat-answer.ts';
import {
  buildAssistant,
  buildFinishedCalls,
  buildSystem,
  buildUser,
  type CallForm,
  callForms,
  findCallForm,
  getWeather,
  weatherQuestion,
} from '../chat-body.ts';
import { type ChatRow, judgeSilence, quoteBeginning } from '../chat-probe.ts';
import { accepted, type Finding, failed, hasResult, type Known, works } from '../findings.ts';

const tools = [getWeather];
const asked = buildUser(weatherQuestion);
const whoAreYou = buildUser('Who are you?');

export const turnProbes: readonly ChatRow[] = [
  ...[...callForms].map(([name, form]) => buildResultProbe(name, form)),
  {
    name: 'two_calls',
    asks: 'two finished calls in one message',
    sends: buildInForm((form) => ({
      messages: [buildUser('Weather?'), ...buildFinishedCalls(form, ['Oslo', 'Rome'])],
      tools,
    })),
    means: { failed: 'Each call gets a message of its own.' },
  },
  {
    name: 'calls_without_tools',
    asks: 'finished calls, no tools offered',
    sends: buildInForm((form) => ({ messages: [asked, ...buildFinishedCalls(form, ['Oslo'])] })),
    means: { failed: 'Codex’s own compaction sends this: the tools that were called are offered.' },
  },
  {
    name: 'user_after_tool',
    asks: 'a user after a tool’s output',
    sends: buildInForm((form) => ({
      messages: [asked, ...buildFinishedCalls(form, ['Oslo']), buildUser('And tomorrow?')],
      tools,
    })),
    means: { failed: 'Happens when an answer is interrupted: a short assistant message is inserted between.' },
  },
  {
    name: 'two_users',
    asks: 'two users in a row',
    sends: { messages: [buildUser('Hello.'), whoAreYou] },
    means: { failed: 'Codex always begins with two user messages: they are merged.' },
  },
  {
    name: 'assistant_first',
    asks: 'a conversation that begins with an assistant',
    sends: { messages: [buildAssistant('Hello.'), whoAreYou] },
    means: { failed: 'Happens after compaction: a short user message is put in front.' },
  },
  {
    name: 'developer',
    asks: 'the role developer',
    sends: { messages: [{ role: 'developer', content: 'Be brief.' }, buildUser('Hello.')] },
    means: { failed: 'Developer messages are sent as system messages.' },
  },
  {
    name: 'two_systems',
    asks: 'two system messages at the start',
    sends: { messages: [buildSystem('Be brief.'), buildSystem('Be kind.'), buildUser('Hello.')] },
    means: { failed: 'They are merged.' },
  },
  {
    name: 'system_later',
    asks: 'a system message in mid-conversation',
    sends: { messages: [buildUser('Hello.'), buildAssistant('Hello.'), buildSystem('Be brief.'), whoAreYou] },
    means: { failed: 'It becomes a user message, marked as what it is.' },
  },
  {
    name: 'assistant_alone',
    asks: 'a conversation of one assistant message',
    sends: { messages: [buildAssistant('Hello.')] },
    means: { failed: 'A short user message stands in.' },
  },
  {
    name: 'no_user',
    asks: 'a conversation without a user',
    sends: { messages: [buildSystem('Say hello.')] },
    means: { failed: 'A short user message stands in.' },
  },
  {
    name: 'text_parts',
    asks: 'several text parts in a message',
    sends: { messages: [buildUser(['Hello.', ' Who are you?'].map((text) => ({ type: 'text', text })))] },
    means: { failed: 'Text parts are joined.' },
  },
];

/** Builds a probe of a finished call with its result. A form is tried only if the server refused those before it. */
function buildResultProbe(name: string, form: CallForm): ChatRow {
  const { asks } = form;
  const sends = ({ findings }: Known) => {
    if (hasResult(findings, 'tool_call', ...failed)) return 'tools are not taken';
    if (findCallForm(findings) !== null) return 'the request is accepted as it is';
    return { messages: [asked, ...buildFinishedCalls(form, ['Oslo'])], tools };
  };
  if (name !== 'tool_result')
    return { name, asks, sends, means: { accepted: 'The profile sends calls in this form.' } };
  const means = { refused: 'An agent’s second request fails, unless another form is taken.' };
  return { name, asks, sends, judge: judgeTurn, means };
}

function judgeTurn(read: ReadAnswer): Finding {
  const { said: text, calls } = read;
  if (text.includes('17')) return works(`the answer has the output: ${quoteBeginning(text)}`);
  return accepted(calls.length > 0 ? 'another call' : (judgeSilence(read)?.detail ?? quoteBeginning(text)));
}

/** Builds a request with finished calls, in the form that the server accepts. */
function buildInForm<Fields>(sends: (form: CallForm) => Fields): (known: Known) => Fields | string {
  return ({ findings }) => {
    const form = findCallForm(findings);
    return form === null ? 'no finished call was taken' : sends(form);
  };
}
