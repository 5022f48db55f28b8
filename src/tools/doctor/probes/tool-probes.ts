import type { ReadAnswer } from '../chat-answer.ts';
import { buildUser, getTime, getWeather, strictWeather, twoCities, weatherQuestion } from '../chat-body.ts';
import { type ChatRow, describeCalls, hasMarkup, judgeCalls } from '../chat-probe.ts';
import { accepted, type Finding, failed, hasResult, ignored, works } from '../findings.ts';

const ask = { messages: [buildUser(weatherQuestion)], tools: [getWeather, getTime] };
const askBoth = { messages: [buildUser(twoCities)], tools: [getWeather] };
const timeChoice = { type: 'function', function: { name: 'get_time' } };

export const toolProbes: readonly ChatRow[] = [
  {
    name: 'tools',
    asks: 'tools, offered',
    sends: ask,
    means: { failed: 'Every request of an agent offers tools.' },
  },
  {
    name: 'tools_no_effort',
    asks: 'tools, with the effort none',
    sends: ({ findings }) =>
      hasResult(findings, 'tools', ...failed) ? { ...ask, reasoning_effort: 'none' } : 'tools are taken as they are',
    means: {
      accepted: 'The profile sends this effort with every request that has tools: the model does not reason there.',
    },
  },
  {
    name: 'tool_call',
    asks: 'a tool call, as JSON',
    essential: true,
    sends: ask,
    judge: judgeCallOf('get_weather'),
    means: {
      ignored: (findings) =>
        hasResult(findings, 'tool_required', 'works') || hasResult(findings, 'tool_named', 'works')
          ? 'The server reads calls where one is required: this model does not call by itself, and Codex can do nothing with it. Try another model.'
          : 'The server does not read the model’s calls, or the model does not call: Codex can do nothing.',
      failed: 'Codex can do nothing: it depends on tools.',
    },
  },
  {
    name: 'tool_stream',
    asks: 'a tool call, as a stream',
    essential: true,
    sends: { ...ask, stream: true },
    judge: judgeCallOf('get_weather'),
    means: { lacking: 'Codex streams: its calls would be lost.' },
  },
  {
    name: 'tool_required',
    asks: 'tool_choice "required"',
    // No tool suits the question: only `tool_choice` can lead to a call.
    sends: { messages: [buildUser('Reply with the single word: hello')], tools: ask.tools, tool_choice: 'required' },
    judge: (read) => judgeCalls(read, (made) => works(describeCalls(made))),
    means: {
      ignored:
        'A client that requires a call may get text: the profile drops the field and lists it in x-responses-dropped.',
      broken: 'The profile does not send it.',
    },
  },
  {
    name: 'tool_any',
    asks: 'tool_choice "any", another word for it',
    sends: ({ findings }) =>
      hasResult(findings, 'tool_required', 'refused') ? { ...ask, tool_choice: 'any' } : '“required” is not refused',
    judge: judgeCallOf('get_weather'),
  },
  {
    name: 'tool_named',
    asks: 'tool_choice with a name',
    // The question suits the other tool: only `tool_choice` can lead to this one.
    sends: { ...ask, tool_choice: timeChoice },
    judge: judgeCallOf('get_time'),
    means: { lacking: 'The function is offered alone instead.' },
  },
  {
    name: 'tool_allowed',
    asks: 'tool_choice "allowed_tools"',
    sends: {
      ...ask,
      tool_choice: { type: 'allowed_tools', allowed_tools: { mode: 'required', tools: [timeChoice] } },
    },
    judge: judgeCallOf('get_time'),
    means: { lacking: 'Only the allowed tools are offered instead.' },
  },
  {
    name: 'tool_none',
    asks: 'tool_choice "none"',
    sends: { ...ask, tool_choice: 'none' },
    judge: (read) =>
      read.calls.length > 0
        ? ignored(describeCalls(read.calls))
        : works(hasMarkup(read) ? 'no call, but its markup is in the text' : 'no call'),
    means: { ignored: 'A call in spite of it fails the request.' },
  },
  {
    name: 'tool_parallel',
    asks: 'two calls in one answer, as a stream',
    sends: { ...askBoth, stream: true },
    judge: (read) =>
      judgeCalls(read, (made) =>
        made.length > 1 ? works(describeCalls(made)) : ignored(`one call: ${describeCalls(made)}`),
      ),
    means: { ignored: 'One call per answer is slower, but nothing is lost.' },
  },
  {
    name: 'parallel_off',
    asks: 'parallel_tool_calls: false',
    sends: { ...askBoth, parallel_tool_calls: false },
    judge: (read, { findings }) => {
      if (read.calls.length > 1) return ignored(describeCalls(read.calls));
      if (read.calls.length === 0) return accepted('answered');
      return hasResult(findings, 'tool_parallel', 'works') ? works('one call') : accepted('one call');
    },
    means: { ignored: 'A client that forbids parallel calls may get some.', failed: 'The profile does not send it.' },
  },
  {
    name: 'tool_strict',
    asks: 'a function that is strict',
    sends: { messages: ask.messages, tools: [strictWeather] },
    means: { failed: 'The profile drops the field and lists it in x-responses-dropped.' },
  },
  {
    name: 'tool_custom',
    asks: 'a custom (free-form) tool',
    sends: {
      messages: [buildUser('Use the tool write_note to write: hello')],
      tools: [{ type: 'custom', custom: { name: 'write_note', description: 'Writes a note' } }],
    },
    means: { failed: 'Custom tools (Codex’s apply_patch) are wrapped in functions.' },
  },
];

/** Creates a judge that accepts a call of the named tool, if its arguments name a city. */
function judgeCallOf(name: string): (read: ReadAnswer) => Finding {
  return (read) =>
    judgeCalls(read, (made) => {
      const withoutId = made.some(({ id }) => id === '') ? ', without an id' : '';
      return (made.some((call) => call.name === name) ? works : ignored)(`${describeCalls(made)}${withoutId}`);
    });
}
