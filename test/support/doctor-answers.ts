import type { Answer } from '../../src/tools/doctor/findings.ts';

/** A complete 200 without a body. */
export const plainAnswer: Answer = {
  ...{ outcome: 'answered', status: 200, contentType: 'application/json', keepAlive: null, retryAfter: null },
  ...{ location: null, body: '', reason: '', milliseconds: 1234 },
};

/** An answer with this JSON. */
export function json(value: unknown, more: Partial<Answer> = {}): Answer {
  return { ...plainAnswer, body: JSON.stringify(value), ...more };
}

/** A completion with this message. */
export function said(message: object, more: object = {}, usage?: object): Answer {
  return json({ choices: [{ index: 0, message, finish_reason: 'stop', ...more }], usage });
}

export const call = (name: string, text: string, id?: string) => ({
  id,
  type: 'function',
  function: { name, arguments: text },
});
const cut = { finish_reason: 'length' };
const oslo = '{"city":"Oslo"}';
const table: Readonly<Record<string, Partial<Answer> | readonly object[]>> = {
  'nothing at all': { body: '' },
  'no completion': { body: '{"choices":"none"}' },
  'not JSON': { body: '<html>\nHello\u0007' },
  'an error in a 200': { body: '{"error":{"message":"sorry"}}' },
  'a 400': { status: 400, body: '{"error":{"message":"not so"}}' },
  'a 404 without a body': { status: 404, body: '' },
  'a 500': { status: 500, body: '{"error":{"message":"oops"}}' },
  'a 503': { status: 503, body: 'busy' },
  'a 529': { status: 529, body: 'overloaded' },
  'a time that ran out': { outcome: 'timed_out', status: 0, reason: 'no complete answer within 9 s' },
  'a connection that was cut': { outcome: 'unreachable', status: 0, reason: 'ECONNRESET' },
  'an answer that is too large': { outcome: 'too_large', reason: 'an answer over 8 MiB' },
  'an empty text': said({ content: '' }),
  'an empty text that was cut': said({ content: ' ' }, cut),
  'reasoning alone': said({ content: null, reasoning_content: 'Hm.' }),
  'reasoning alone that was cut': said({ content: '', reasoning: 'Hm.' }, cut),
  'a word': said({ content: 'hello' }, {}, { prompt_tokens: 9, completion_tokens: 32, total_tokens: 41 }),
  'more tokens than asked for': said(
    { content: 'hello' },
    {},
    { prompt_tokens: 9, completion_tokens: 33, total_tokens: 42 },
  ),
  'a long text that was cut': said({ content: 'a'.repeat(321) }, cut),
  'a text at the limit': said({ content: 'b'.repeat(320) }, cut),
  'a word after reasoning in tags': said({ content: '<think>Hm.</think>17 red 17' }),
  'a word after a closing tag': said({ content: 'Hm.</think>Crimson' }),
  'a word after hidden reasoning': said(
    { content: 'a scarlet one' },
    {},
    { prompt_tokens: 3, completion_tokens: 4, total_tokens: 12, completion_tokens_details: { reasoning_tokens: 5 } },
  ),
  'reasoning counted apart': said(
    { content: 'reddish', reasoning_content: 'Hm.', reasoning_details: [{ type: 'reasoning.text', text: 'Hm.' }] },
    {},
    { prompt_tokens: 3, completion_tokens: 4, total_tokens: 11, completion_tokens_details: { reasoning_tokens: 5 } },
  ),
  'a call as text': said({ content: `<tool_call>{"name":"get_weather"}</tool_call>` }),
  'a call as text of another kind': said({ content: '[TOOL_CALLS]get_weather' }),
  'a call of another tool, without an id': said({ content: null, tool_calls: [call('get_time', oslo)] }),
  'a call whose arguments are a list': said({ content: 'I call.', tool_calls: [call('get_weather', '[1]', 'a')] }),
  'a call that was cut': said({ content: null, tool_calls: [call('get_weather', `${oslo.slice(0, 9)}`, 'a')] }, cut),
  'two calls': said({ content: '', tool_calls: [call('get_time', oslo, 'a'), call('get_weather', oslo, 'b')] }),
  'a call with long arguments': said({
    content: '',
    tool_calls: [call('write_note', `{"a":"${'x'.repeat(99)}"}`, 'a')],
  }),
  'the JSON of the schema': said({ content: '{"city":"Oslo","population":700000}' }),
  'JSON with a key too few': said({ content: oslo }),
  'JSON with a key too many': said({ content: '{"city":"Oslo","population":1,"alpha":"charlie"}' }),
  'JSON of other types': said({ content: '{"city":7,"population":1}' }),
  'JSON with half a person': said({ content: '{"city":"Oslo","population":1.5}' }),
  'JSON that was cut': said({ content: ' {"city":"Os' }, cut),
  'a list': said({ content: '["bravo"]' }),
  'log probabilities': said(
    { content: 'alpha bravo' },
    {
      logprobs: {
        content: [
          { token: 'a', logprob: -1 },
          { token: 'b', logprob: -1 },
        ],
      },
    },
  ),
  'events without a piece': [{ delta: { role: 'assistant', content: '' } }, { delta: {}, finish_reason: 'stop' }],
  'events of one short piece': [{ delta: { content: 'x'.repeat(40) } }, { delta: {}, finish_reason: 'stop' }],
  'events of one long piece': [{ delta: { content: 'x'.repeat(41) } }, { delta: {}, finish_reason: 'stop' }],
  'events without a reason to finish': [{ delta: { content: 'one ' } }, { delta: { content: 'two' } }],
  'events that repeat the text before them': ['a', 'ab', 'abc', 'abcd', 'abcde'].map((content) => ({
    delta: { content },
  })),
  'events that repeat it too seldom': ['a', 'ab', 'abc', 'abcd'].map((content) => ({ delta: { content } })),
  'events that repeat it, and then do not': ['a', 'ab', 'abc', 'abcd', 'e'].map((content) => ({ delta: { content } })),
  'events of reasoning, then a call': [
    { delta: { reasoning_content: 'Hm.' } },
    { delta: { tool_calls: [{ index: 0, ...call('get_weather', oslo, 'a') }] } },
    { delta: {}, finish_reason: 'tool_calls' },
  ],
  'events without an end': {
    contentType: 'text/event-stream',
    body: 'data: {"choices":[{"delta":{"content":"on"}}]}\n\n',
  },
  'an event that is too large': {
    contentType: 'text/event-stream',
    body: `data: ${'x'.repeat(2 ** 20)}\n\n`,
  },
  'events with an error': {
    contentType: 'text/event-stream',
    body: 'data: {"choices":[{"delta":{"content":"on"}}]}\n\ndata: {"error":{"message":"gone"}}\n\ndata: [DONE]\n\n',
  },
};

function answerOf(given: Partial<Answer> | readonly object[]): Answer {
  if (!Array.isArray(given)) return { ...plainAnswer, ...given };
  const events = given.map((choice) => `data: ${JSON.stringify({ choices: [{ index: 0, ...choice }] })}\n\n`);
  return { ...plainAnswer, contentType: 'text/event-stream', body: `${events.join('')}data: [DONE]\n\n` };
}

/** Answers of every kind to a question, by what is said of them. */
export const answersOfAllKinds: Readonly<Record<string, Answer>> = Object.fromEntries(
  Object.entries(table).map(([name, given]) => [name, answerOf(given)]),
);
