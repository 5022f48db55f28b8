import type { AnsweredCall } from '../chat-answer.ts';
import { chat, getTime, getWeather, strictWeather, twoCities, user, weatherQuestion } from '../chat-body.ts';
import { acceptance, describeCalls, judgeCalls, judged, showsMarkup } from '../judge.ts';
import { type Answer, type Finding, found, type Known, type ProbeRequest, type ProbeRow } from '../probe-types.ts';

const ask = [user(weatherQuestion)];
const both = [getWeather, getTime];

export const toolProbes: readonly ProbeRow[] = [
  {
    name: 'tools',
    asks: 'tools, offered',
    tokens: 'few',
    request: (known) => [chat(known, 'few', { messages: ask, tools: both })],
    judge: acceptance,
    means: { refused: 'Every request of an agent offers tools.', broken: 'Every request of an agent offers tools.' },
  },
  {
    name: 'tools_no_effort',
    asks: 'tools, with the effort none',
    tokens: 'few',
    request: (known) =>
      found(known.findings, 'tools', 'refused', 'broken')
        ? [chat(known, 'few', { messages: ask, tools: both, reasoning_effort: 'none' })]
        : 'tools are taken as they are',
    judge: acceptance,
    means: {
      accepted: 'The profile sends this effort with every request that has tools: the model does not reason there.',
    },
  },
  {
    name: 'tool_call',
    asks: 'a tool call, as JSON',
    tokens: 'many',
    essential: true,
    request: (known) => [chat(known, 'many', { messages: ask, tools: both })],
    judge: calls('get_weather'),
    means: {
      ignored: 'The server does not read the model’s calls, or the model does not call: Codex can do nothing.',
      refused: 'Codex can do nothing: it depends on tools.',
      broken: 'Codex can do nothing: it depends on tools.',
    },
  },
  {
    name: 'tool_stream',
    asks: 'a tool call, as a stream',
    tokens: 'many',
    essential: true,
    request: (known) => [chat(known, 'many', { messages: ask, tools: both, stream: true })],
    judge: calls('get_weather'),
    means: {
      ignored: 'Codex streams: its calls would be lost.',
      refused: 'Codex streams: its calls would be lost.',
      broken: 'Codex streams: its calls would be lost.',
    },
  },
  {
    name: 'tool_required',
    asks: 'tool_choice "required"',
    tokens: 'many',
    request: choosing('required'),
    judge: calls('get_weather'),
    means: { ignored: 'A client that requires a call may get text.', broken: 'The profile does not send it.' },
  },
  {
    name: 'tool_any',
    asks: 'tool_choice "any", another word for it',
    tokens: 'many',
    request: (known) =>
      found(known.findings, 'tool_required', 'refused') ? choosing('any')(known) : '“required” is not refused',
    judge: calls('get_weather'),
    means: {},
  },
  {
    name: 'tool_named',
    asks: 'tool_choice with a name',
    tokens: 'many',
    // The question suits the other tool: only the choice can lead to this one.
    request: choosing({ type: 'function', function: { name: 'get_time' } }),
    judge: calls('get_time'),
    means: { ignored: 'The function is offered alone instead.', refused: 'The function is offered alone instead.' },
  },
  {
    name: 'tool_allowed',
    asks: 'tool_choice "allowed_tools"',
    tokens: 'many',
    request: choosing({
      type: 'allowed_tools',
      allowed_tools: { mode: 'required', tools: [{ type: 'function', function: { name: 'get_time' } }] },
    }),
    judge: calls('get_time'),
    means: {
      ignored: 'Only the allowed tools are offered instead.',
      refused: 'Only the allowed tools are offered instead.',
    },
  },
  {
    name: 'tool_none',
    asks: 'tool_choice "none"',
    tokens: 'many',
    request: choosing('none'),
    judge: ([answer]) =>
      judged(answer, (read) =>
        read.calls.length > 0
          ? { result: 'ignored', detail: describeCalls(read.calls) }
          : { result: 'works', detail: showsMarkup(read) ? 'no call, but its markup is in the text' : 'no call' },
      ),
    means: { ignored: 'A call in spite of it fails the request.' },
  },
  {
    name: 'tool_parallel',
    asks: 'two calls in one answer, as a stream',
    tokens: 'many',
    request: (known) => [chat(known, 'many', { messages: [user(twoCities)], tools: [getWeather], stream: true })],
    judge: ([answer]) =>
      judged(answer, (read) =>
        judgeCalls(read, (made) =>
          made.length > 1
            ? { result: 'works', detail: describeCalls(made) }
            : { result: 'ignored', detail: `one call: ${describeCalls(made)}` },
        ),
      ),
    means: { ignored: 'One call per turn is slower, but nothing is lost.' },
  },
  {
    name: 'parallel_off',
    asks: 'parallel_tool_calls: false',
    tokens: 'many',
    request: (known) => [
      chat(known, 'many', { messages: [user(twoCities)], tools: [getWeather], parallel_tool_calls: false }),
    ],
    judge: ([answer], { findings }) =>
      judged(answer, (read) => {
        if (read.calls.length > 1) return { result: 'ignored', detail: describeCalls(read.calls) };
        const proves = read.calls.length === 1 && found(findings, 'tool_parallel', 'works');
        return { result: proves ? 'works' : 'accepted', detail: read.calls.length === 1 ? 'one call' : 'answered' };
      }),
    means: { ignored: 'A client that forbids parallel calls may get some.', refused: 'The profile does not send it.' },
  },
  {
    name: 'tool_strict',
    asks: 'a function that is strict',
    tokens: 'few',
    request: (known) => [chat(known, 'few', { messages: ask, tools: [strictWeather] })],
    judge: acceptance,
    means: { refused: 'The profile does not send it, and names it as left out.' },
  },
  {
    name: 'tool_custom',
    asks: 'a custom (free-form) tool',
    tokens: 'few',
    request: (known) => [
      chat(known, 'few', {
        messages: [user('Use the tool write_note to write: hello')],
        tools: [{ type: 'custom', custom: { name: 'write_note', description: 'Writes a note' } }],
      }),
    ],
    judge: acceptance,
    means: { refused: 'Custom tools (Codex’s apply_patch) are wrapped in functions.' },
  },
];

function choosing(choice: unknown): (known: Known) => readonly ProbeRequest[] {
  return (known) => [chat(known, 'many', { messages: ask, tools: both, tool_choice: choice })];
}

/** A judge that wants a call of that tool, with arguments that name a city. */
function calls(name: string): (answers: readonly Answer[]) => Finding {
  return ([answer]) =>
    judged(answer, (read) =>
      judgeCalls(read, (made) => ({
        result: made.some((call) => call.name === name) ? 'works' : 'ignored',
        detail: describe(made),
      })),
    );
}

function describe(made: readonly AnsweredCall[]): string {
  const withoutId = made.some(({ id }) => id === '') ? ', without an id' : '';
  return `${describeCalls(made)}${withoutId}`;
}
