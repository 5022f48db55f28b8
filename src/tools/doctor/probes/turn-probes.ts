import type { ReadAnswer } from '../chat-answer.ts';
import {
  assistant,
  type CallForm,
  callFormOf,
  callForms,
  finishedCalls,
  getWeather,
  system,
  user,
  weatherQuestion,
} from '../chat-body.ts';
import type { ChatRow } from '../chat-probe.ts';
import { accepted, failed, found, works } from '../findings.ts';
import { quote, sayingNothing } from '../judge.ts';
import type { Finding, Known } from '../probe-types.ts';

const tools = [getWeather];
const asked = user(weatherQuestion);
const whoAreYou = user('Who are you?');

export const turnProbes: readonly ChatRow[] = [
  ...[...callForms].map(([name, form]) => resultProbe(name, form)),
  {
    name: 'two_calls',
    asks: 'two finished calls in one message',
    sends: inForm((form) => ({ messages: [user('Weather?'), ...finishedCalls(form, ['Oslo', 'Rome'])], tools })),
    means: { failed: 'Each call gets a message of its own.' },
  },
  {
    name: 'calls_without_tools',
    asks: 'finished calls, no tools offered',
    sends: inForm((form) => ({ messages: [asked, ...finishedCalls(form, ['Oslo'])] })),
    means: { failed: 'Codex’s own compaction sends this: the tools that were called are offered.' },
  },
  {
    name: 'user_after_tool',
    asks: 'a user after a tool’s output',
    sends: inForm((form) => ({ messages: [asked, ...finishedCalls(form, ['Oslo']), user('And tomorrow?')], tools })),
    means: { failed: 'Happens when a turn is interrupted: a short assistant message is inserted between.' },
  },
  {
    name: 'two_users',
    asks: 'two users in a row',
    sends: { messages: [user('Hello.'), whoAreYou] },
    means: { failed: 'Codex always begins with two user messages: they are merged.' },
  },
  {
    name: 'assistant_first',
    asks: 'a conversation that begins with an assistant',
    sends: { messages: [assistant('Hello.'), whoAreYou] },
    means: { failed: 'Happens after compaction: a short user message is put in front.' },
  },
  {
    name: 'developer',
    asks: 'the role developer',
    sends: { messages: [{ role: 'developer', content: 'Be brief.' }, user('Hello.')] },
    means: { failed: 'Developer messages are sent as system messages.' },
  },
  {
    name: 'two_systems',
    asks: 'two system messages at the start',
    sends: { messages: [system('Be brief.'), system('Be kind.'), user('Hello.')] },
    means: { failed: 'They are merged.' },
  },
  {
    name: 'system_later',
    asks: 'a system message in mid-conversation',
    sends: { messages: [user('Hello.'), assistant('Hello.'), system('Be brief.'), whoAreYou] },
    means: { failed: 'It becomes a user message, marked as what it is.' },
  },
  {
    name: 'assistant_alone',
    asks: 'a conversation of one assistant message',
    sends: { messages: [assistant('Hello.')] },
    means: { failed: 'A short user message stands in.' },
  },
  {
    name: 'no_user',
    asks: 'a conversation without a user',
    sends: { messages: [system('Say hello.')] },
    means: { failed: 'A short user message stands in.' },
  },
  {
    name: 'text_parts',
    asks: 'several text parts in a message',
    sends: { messages: [user(['Hello.', ' Who are you?'].map((text) => ({ type: 'text', text })))] },
    means: { failed: 'Text parts are joined.' },
  },
];

/** Builds a probe of a finished call with its result. A form is tried only if the server refused those before it. */
function resultProbe(name: string, form: CallForm): ChatRow {
  const { asks } = form;
  const sends = ({ findings }: Known) => {
    if (found(findings, 'tool_call', ...failed)) return 'tools are not taken';
    if (callFormOf(findings) !== null) return 'the turn is taken as it is';
    return { messages: [asked, ...finishedCalls(form, ['Oslo'])], tools };
  };
  if (name !== 'tool_result')
    return { name, asks, sends, means: { accepted: 'The profile sends calls in this form.' } };
  const means = { refused: 'An agent’s second request fails, unless another form is taken.' };
  return { name, asks, sends, judge: judgeTurn, means };
}

function judgeTurn(read: ReadAnswer): Finding {
  const { said: text, calls } = read;
  if (text.includes('17')) return works(`the answer has the output: ${quote(text)}`);
  return accepted(calls.length > 0 ? 'another call' : (sayingNothing(read)?.detail ?? quote(text)));
}

/** Builds a request with finished calls, in the form that the server accepts. */
function inForm<Fields>(sends: (form: CallForm) => Fields): (known: Known) => Fields | string {
  return ({ findings }) => {
    const form = callFormOf(findings);
    return form === null ? 'no finished call was taken' : sends(form);
  };
}
