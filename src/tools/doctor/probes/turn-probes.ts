import {
  assistant,
  type CallForm,
  callFormOf,
  callForms,
  callId,
  chat,
  finishedCalls,
  getWeather,
  system,
  user,
  weatherQuestion,
} from '../chat-body.ts';
import { acceptance, judged, quote, sayingNothing } from '../judge.ts';
import { type Answer, type Finding, found, type Known, type ProbeRequest, type ProbeRow } from '../probe-types.ts';

const plainForm: CallForm = { content: null, nineCharacterIds: false, signature: false };
const tools = [getWeather];
const noTurn = 'no finished call was taken';

/** What each of the forms after the first adds. */
const formNames: Readonly<Record<string, string>> = {
  tool_result: 'the turn after a tool call',
  tool_result_empty: 'the same, content "" in place of null',
  tool_result_ids: 'the same, ids of nine characters',
  tool_result_both: 'the same, both',
  tool_result_signed: 'the same, with a thought signature',
};

export const turnProbes: readonly ProbeRow[] = [
  ...[...callForms].map(([name, form]) => resultProbe(name, form)),
  {
    name: 'tool_result_parts',
    asks: 'a tool’s output as parts',
    tokens: 'few',
    request: (known) => withForm(known, (form) => partsOf(form)),
    judge: acceptance,
    means: { refused: 'Outputs are always sent as text anyway.' },
  },
  {
    name: 'two_calls',
    asks: 'two finished calls in one message',
    tokens: 'few',
    request: (known) => withForm(known, (form) => [user('Weather?'), ...finishedCalls(form, ['Oslo', 'Rome'])]),
    judge: acceptance,
    means: { refused: 'Each call gets a message of its own.', broken: 'Each call gets a message of its own.' },
  },
  {
    name: 'calls_without_tools',
    asks: 'finished calls, no tools offered',
    tokens: 'few',
    request: (known) => {
      const form = callFormOf(known.findings);
      if (form === null) return noTurn;
      return [chat(known, 'few', { messages: [user(weatherQuestion), ...finishedCalls(form, ['Oslo'])] })];
    },
    judge: acceptance,
    means: { refused: 'Codex’s own compaction sends this: the tools that were called are offered.' },
  },
  {
    name: 'user_after_tool',
    asks: 'a user after a tool’s output',
    tokens: 'few',
    request: (known) =>
      withForm(known, (form) => [user(weatherQuestion), ...finishedCalls(form, ['Oslo']), user('And tomorrow?')]),
    judge: acceptance,
    means: { refused: 'Happens when a turn is interrupted: a short assistant message is inserted between.' },
  },
  turn('two_users', 'two users in a row', [user('Hello.'), user('Who are you?')], {
    refused: 'Codex always begins with two user messages: they are merged.',
    broken: 'Codex always begins with two user messages: they are merged.',
  }),
  turn('assistant_first', 'a conversation that begins with an assistant', [assistant('Hello.'), user('Who are you?')], {
    refused: 'Happens after compaction: a short user message is put in front.',
    broken: 'Happens after compaction: a short user message is put in front.',
  }),
  turn('developer', 'the role developer', [{ role: 'developer', content: 'Be brief.' }, user('Hello.')], {
    refused: 'Developer messages are sent as system messages.',
  }),
  turn('two_systems', 'two system messages at the start', [system('Be brief.'), system('Be kind.'), user('Hello.')], {
    refused: 'They are merged.',
  }),
  turn(
    'system_later',
    'a system message in mid-conversation',
    [user('Hello.'), assistant('Hello.'), system('Be brief.'), user('Who are you?')],
    { refused: 'It becomes a user message, marked as what it is.' },
  ),
  turn('assistant_alone', 'a conversation of one assistant message', [assistant('Hello.')], {
    refused: 'A short user message stands in.',
    broken: 'A short user message stands in.',
  }),
  turn('no_user', 'a conversation without a user', [system('Say hello.')], {
    refused: 'A short user message stands in.',
  }),
  turn(
    'text_parts',
    'several text parts in a message',
    [
      user([
        { type: 'text', text: 'Hello.' },
        { type: 'text', text: ' Who are you?' },
      ]),
    ],
    { refused: 'Text parts are joined.' },
  ),
];

function turn(name: string, asks: string, messages: readonly object[], means: ProbeRow['means']): ProbeRow {
  return {
    name,
    asks,
    tokens: 'few',
    request: (known) => [chat(known, 'few', { messages })],
    judge: acceptance,
    means,
  };
}

/** The turn that every agent's loop consists of; a form is tried only if those before it were refused. */
function resultProbe(name: string, form: CallForm): ProbeRow {
  const isFirst = name === 'tool_result';
  return {
    name,
    asks: formNames[name] ?? name,
    tokens: isFirst ? 'many' : 'few',
    request(known): readonly ProbeRequest[] | string {
      if (found(known.findings, 'tool_call', 'refused', 'broken')) return 'tools are not taken';
      if (callFormOf(known.findings) !== null) return 'the turn is taken as it is';
      return [
        chat(known, isFirst ? 'many' : 'few', {
          messages: [user(weatherQuestion), ...finishedCalls(form, ['Oslo'])],
          tools,
        }),
      ];
    },
    judge: isFirst ? judgeTurn : acceptance,
    means: isFirst
      ? { refused: 'An agent’s second request fails, unless another form is taken.' }
      : { accepted: 'The profile sends calls in this form.' },
  };
}

function judgeTurn([answer]: readonly Answer[]): Finding {
  return judged(answer, (read) => {
    const { said: text, calls } = read;
    if (text.includes('17')) return { result: 'works', detail: `the answer has the output: ${quote(text)}` };
    const shown = calls.length > 0 ? 'another call' : (sayingNothing(read)?.detail ?? quote(text));
    return { result: 'accepted', detail: shown };
  });
}

function withForm(known: Known, messages: (form: CallForm) => readonly object[]): readonly ProbeRequest[] | string {
  const form = callFormOf(known.findings);
  return form === null ? noTurn : [chat(known, 'few', { messages: messages(form), tools })];
}

function partsOf(form: CallForm): readonly object[] {
  const [call] = finishedCalls(form, ['Oslo']);
  return [
    user(weatherQuestion),
    call ?? plainForm,
    { role: 'tool', tool_call_id: callId(form, 0), content: [{ type: 'text', text: 'Oslo: 17 degrees' }] },
  ];
}
