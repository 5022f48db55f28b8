import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type TranslatedCompletion,
  translateCompletion,
} from '../../../../../src/filter/translate/chat-to-response/completion.ts';
import { StreamTranslator } from '../../../../../src/filter/translate/chat-to-response/stream.ts';
import { type Repair, type ResponseContext, repairKinds } from '../../../../../src/filter/translate/shared/context.ts';
import { isSummary } from '../../../../../src/filter/translate/shared/settings.ts';
import { ApiError } from '../../../../../src/filter/wire/schema/api-error.ts';
import type { ResponseResource } from '../../../../../src/filter/wire/schema/response-resource.ts';
import { encodeSseEvents } from '../../../../../src/filter/wire/sse/encode-events.ts';
import { createTestContext } from '../../../../support/context.ts';
import { faultsOfStream } from '../../../../support/invariants.ts';
import { runs } from '../../../../support/property-runs.ts';
import { runStream } from '../../../../support/run-stream.ts';
import { inPiecesOf } from '../../../../support/split.ts';
import { eventsOf } from '../../../../support/stream-lines.ts';

const MiB = 1024 * 1024;
const types = (events: readonly { type: string }[]) => events.map(({ type }) => type);
const delta = (fields: object, rest: object = {}) => ({ choices: [{ index: 0, delta: fields, ...rest }] });
const timeout = new ApiError('The upstream was silent.', {
  status: 504,
  type: 'server_error',
  code: 'upstream_timeout',
});

describe('a stream translator', () => {
  it('holds citations once, whether they came before the text or after it', () => {
    const cited = delta({
      annotations: [{ type: 'url_citation', url_citation: { url: 'https://a.example', title: 'A' } }],
    });
    const held = (...chunks: readonly object[]) => {
      const translator = new StreamTranslator(createTestContext());
      const events = chunks.flatMap((chunk) => translator.push(chunk));
      expect(types(events)).toContain('response.output_text.annotation.added');
      return translator.holds();
    };
    const [text, more] = [delta({ content: 'a' }), delta({ content: 'b' })];
    expect(held(cited, text, more)).toBe(held(text, cited, more));
  });

  it('starts once, by itself or when told', () => {
    const translator = new StreamTranslator(createTestContext());
    expect(types(translator.start())).toEqual(['response.created', 'response.in_progress']);
    expect(translator.start()).toEqual([]);
    expect(types(translator.push(delta({ role: 'assistant' })))).toEqual([]);
    const unstarted = new StreamTranslator(createTestContext());
    expect(types(unstarted.push(delta({ role: 'assistant' })))).toEqual(['response.created', 'response.in_progress']);
  });

  it('says nothing after its end', () => {
    const translator = new StreamTranslator(createTestContext());
    translator.push(delta({ content: 'a' }));
    expect(types(translator.finish('done')).at(-1)).toBe('response.completed');
    expect(translator.ended()).toBe(true);
    expect(translator.start()).toEqual([]);
    expect(translator.push(delta({ content: 'b' }))).toEqual([]);
    expect(translator.malformed('?')).toEqual([]);
    expect(translator.finish('eof')).toEqual([]);
    expect(translator.fail(timeout)).toEqual([]);
  });

  it('tells in its error when to try again, as a header of an answer would', () => {
    const retry = { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '4.2s' };
    const translator = new StreamTranslator(createTestContext());
    translator.push(delta({ content: 'a' }));
    const [event, failed] = translator
      .push({ error: { code: 429, message: 'Quota exceeded.', details: [retry] } })
      .slice(-2);
    const headers = { 'retry-after': '5' };
    expect(event).toMatchObject({ type: 'error', error: { code: 'rate_limit_exceeded', headers } });
    expect(failed).toMatchObject({ response: { error: { code: 'rate_limit_exceeded', headers } } });
    const silent = new StreamTranslator(createTestContext());
    silent.start();
    expect(JSON.stringify(silent.fail(timeout))).not.toContain('"headers"');
  });

  it('closes a whole call when the next item begins, which does not wait', () => {
    const translator = new StreamTranslator(createTestContext());
    const call = { index: 0, id: 'a', function: { name: 'f', arguments: '{"q":1}' } };
    translator.push(delta({ tool_calls: [call] }));
    expect(types(translator.push(delta({ content: 'Done.' })))).toEqual([
      'response.function_call_arguments.done',
      'response.output_item.done',
      'response.output_item.added',
      'response.content_part.added',
      'response.output_text.delta',
    ]);
    const other = { ...call, index: 1, id: 'b' };
    expect(types(translator.push(delta({ tool_calls: [other, { ...call, index: 2, id: 'c' }] }))).slice(-6)).toEqual([
      'response.output_item.added',
      'response.function_call_arguments.delta',
      'response.function_call_arguments.done',
      'response.output_item.done',
      'response.output_item.added',
      'response.function_call_arguments.delta',
    ]);
  });

  it('begins another call with another object after white space alone', () => {
    const translator = new StreamTranslator(createTestContext());
    for (const fragment of [{ name: 'f', arguments: '{"q":1}' }, { arguments: '\n' }, { arguments: '{"q":2}' }])
      translator.push(delta({ tool_calls: [{ index: 0, function: fragment }] }));
    expect(translator.finish('done').at(-1)).toMatchObject({
      response: { output: [{ arguments: '{"q":1}\n' }, { arguments: '{"q":2}' }] },
    });
  });

  it('fails when told, even before it began, and keeps what there is', () => {
    const unstarted = new StreamTranslator(createTestContext());
    expect(types(unstarted.fail(timeout))).toEqual([
      'response.created',
      'response.in_progress',
      'error',
      'response.failed',
    ]);
    const translator = new StreamTranslator(createTestContext());
    translator.push({ ...delta({ content: 'a' }), usage: { prompt_tokens: 1, completion_tokens: 1 } });
    const last = translator.fail(timeout).at(-1);
    expect(last).toMatchObject({
      response: {
        status: 'failed',
        error: { code: 'upstream_timeout' },
        output: [{ status: 'incomplete' }],
        usage: {},
      },
    });
    expect(translator.response.failure).toBe(timeout);
  });

  it('tells that a finish reason came, so that no one waits for the end of the body', () => {
    const translator = new StreamTranslator(createTestContext());
    translator.push(delta({ content: 'a' }));
    expect(translator.finishReason).toBeNull();
    translator.push(delta({}, { finish_reason: 'stop' }));
    expect(translator.finishReason).not.toBeNull();
    expect(translator.ended()).toBe(false);
    expect(translator.response.usage).toBeNull();
    translator.push({ choices: [], usage: { prompt_tokens: 3, completion_tokens: 2 } });
    expect(translator.response.usage).toMatchObject({ total_tokens: 5 });
  });

  it('sums itself up for the log', () => {
    const translator = new StreamTranslator(createTestContext());
    translator.push({ model: 'real', ...delta({ content: 'a' }) });
    translator.malformed('?');
    translator.push(delta({ tool_calls: [{ index: 0, id: 'a', function: {} }] }, { finish_reason: 'length' }));
    translator.finish('eof');
    expect(translator.summary()).toEqual({
      error: null,
      status: 'incomplete',
      finishReason: 'length',
      events: 9,
      model: 'real',
      usage: null,
      outputTokens: 1,
      unread: [],
      repairs: ['skipped_data'],
    });
  });

  const call = (index: number, number = '1') =>
    delta({ tool_calls: [{ index, id: 'a', function: { name: 'f', arguments: `{"n":${number}}` } }] });
  const odd: Record<Repair, readonly (object | string)[]> = {
    skipped_data: ['?', delta({ content: 'a' })],
    repeated_call: [call(0), call(1)],
    arguments: [call(0, '1}')],
    whole_number: [call(0, '1.0')],
    usage: [delta({ content: 'a' }), { usage: { prompt_tokens: 2, completion_tokens: 2, total_tokens: 3 } }],
    service_tier: [{ ...delta({ content: 'a' }), service_tier: 'turbo' }],
    tool_choice_ignored: [delta({ content: 'a' })],
    parallel_tool_calls_ignored: [call(0), call(1, '2')],
    reasoning_alone: [delta({ reasoning: 'a' })],
  };
  it.each(repairKinds)('tells that it repaired: %s', (kind) => {
    const context = createTestContext({ toolNames: ['f'], requiresCall: kind === 'tool_choice_ignored' });
    const echo = { ...context.echo, parallel_tool_calls: kind !== 'parallel_tool_calls_ignored' };
    const translator = new StreamTranslator({ ...context, echo });
    for (const one of odd[kind]) {
      if (typeof one === 'string') translator.malformed(one);
      else translator.push(one);
    }
    translator.push(delta({}, { finish_reason: 'stop' }));
    translator.finish('done');
    expect(translator.summary().repairs).toEqual([kind]);
  });

  it('takes whole arguments that are said again for no repair', () => {
    const translator = new StreamTranslator(createTestContext());
    translator.push(call(0));
    translator.push(call(0));
    translator.finish('done');
    expect(translator.summary().repairs).toEqual([]);
  });

  it('compares a call with the eight before it of its id', () => {
    const callsOf = (numbers: readonly number[]) => {
      const translator = new StreamTranslator(createTestContext());
      for (const [index, number] of numbers.entries()) translator.push(call(index, `${number}`));
      translator.finish('done');
      return translator.response.final?.output;
    };
    expect(callsOf([1, 2, 3, 4, 5, 6, 7, 8, 1])).toHaveLength(8);
    expect(callsOf([1, 2, 3, 4, 5, 6, 7, 8, 9, 1])).toHaveLength(10);
  });

  it('gives up only after three malformed pieces in a row', () => {
    const translator = new StreamTranslator(createTestContext());
    translator.malformed('1');
    translator.malformed('2');
    translator.push(delta({}));
    translator.malformed('3');
    translator.malformed('4');
    expect(translator.ended()).toBe(false);
    expect(types(translator.malformed('5')).at(-1)).toBe('response.failed');
  });

  it.each([64, 65])('takes the same %i characters again and again for a keep-alive, up to 64', (length) => {
    const translator = new StreamTranslator(createTestContext());
    for (let times = 0; times < 9; times += 1) translator.malformed('p'.repeat(length));
    expect(translator.ended()).toBe(length > 64);
  });

  it('takes [DONE] after nothing but malformed data for no answer', () => {
    const translator = new StreamTranslator(createTestContext());
    translator.malformed('?');
    expect(translator.finish('done').at(-1)).toMatchObject({
      response: { error: { code: 'invalid_upstream_response' } },
    });
  });
});

describe('large pieces', () => {
  const call = (size: number) =>
    Buffer.from(
      `data: ${JSON.stringify(delta({ tool_calls: [{ index: 0, id: 'a', function: { name: 'f', arguments: `{"a":"${'x'.repeat(size)}"}` } }] }))}\n\n` +
        `data: ${JSON.stringify(delta({}, { finish_reason: 'tool_calls' }))}\n\ndata: [DONE]\n\n`,
    );

  it('1 MiB of arguments in one event pass', () => {
    const stream = runStream([call(MiB)], createTestContext()).bytes.toString();
    expect(faultsOfStream(stream)).toEqual([]);
    expect(eventsOf(stream).at(-1)?.type).toBe('response.completed');
  });

  it('a first event of 9 MiB is an error with a status', () => {
    const { bytes, error } = runStream(inPiecesOf(64 * 1024, call(9 * MiB)), createTestContext());
    expect(error).toMatchObject({ status: 502, code: 'upstream_response_too_large' });
    expect(bytes).toHaveLength(0);
  });

  it('a later event of 9 MiB fails the stream', () => {
    const pieces = [Buffer.from(`data: ${JSON.stringify(delta({ content: 'Hi' }))}\n\n`), call(9 * MiB)];
    const stream = runStream(pieces, createTestContext()).bytes.toString();
    expect(faultsOfStream(stream)).toEqual([]);
    expect(eventsOf(stream).at(-1)).toMatchObject({ response: { error: { code: 'upstream_response_too_large' } } });
  });

  it('what waits behind a call that is cut is in the failed response', () => {
    const translator = new StreamTranslator(createTestContext({ toolNames: ['f'] }));
    const calls = [
      { index: 0, id: 'a', function: { name: 'f', arguments: '{"q":' } },
      { index: 1, id: 'b', function: { name: 'f', arguments: '{"q":1}' } },
    ];
    translator.push(delta({ tool_calls: calls }));
    expect(translator.finish('eof').at(-1)).toMatchObject({
      type: 'response.failed',
      response: {
        output: [
          { call_id: 'a', status: 'incomplete', arguments: '{"q":' },
          { call_id: 'b', arguments: '{"q":1}' },
        ],
      },
    });
  });
});

/** An answer, before anyone decides how it is sent. */
interface Answer {
  readonly reasoning: string;
  readonly content: string;
  readonly refusal: string;
  readonly calls: readonly { id: string; name: string; text: string }[];
  readonly finish: string;
}

const text = fc.string({ unit: 'grapheme', maxLength: 20 });
const answers: fc.Arbitrary<Answer> = fc.record({
  reasoning: text,
  content: text,
  refusal: fc.oneof(fc.constant(''), text),
  calls: fc.uniqueArray(
    fc.record({
      id: fc.stringMatching(/^call_[a-z]{4}$/),
      name: fc.constantFrom('f', 'get', 'get_weather', 'p', 'search', 'other'),
      text: fc.oneof(
        fc.json({ depthSize: 'small' }).map((json) => `{"a":${json}}`),
        text.map((input) => JSON.stringify({ input })),
        fc.constant(''),
      ),
    }),
    { maxLength: 3, selector: ({ id }) => id },
  ),
  finish: fc.constantFrom('stop', 'tool_calls', 'length', 'content_filter', 'STOP', 'error'),
});

const context = () =>
  createTestContext({
    toolNames: ['f', 'get', 'get_weather'],
    restoredTools: { p: { kind: 'custom', name: 'p' }, search: { kind: 'tool_search' } },
    wantsEncryptedReasoning: true,
  });

const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };

function asCompletion({ reasoning, content, refusal, calls, finish }: Answer): object {
  const tool_calls = calls.map(({ id, name, text: args }) => ({
    id,
    type: 'function',
    function: { name, arguments: args },
  }));
  const message = { role: 'assistant', reasoning_content: reasoning, content, refusal, tool_calls };
  return { choices: [{ index: 0, message, finish_reason: finish }], usage };
}

function asJson(answer: Answer, given: ResponseContext = context()): TranslatedCompletion {
  return translateCompletion(asCompletion(answer), given);
}

/** The same in deltas of `size` characters. */
function asChunks({ reasoning, content, refusal, calls, finish }: Answer, size: number): unknown[] {
  const pieces = (whole: string) => whole.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? [];
  return [
    delta({ role: 'assistant', content: '' }),
    ...pieces(reasoning).map((piece) => delta({ reasoning_content: piece })),
    ...pieces(content).map((piece) => delta({ content: piece })),
    ...pieces(refusal).map((piece) => delta({ refusal: piece })),
    ...calls.flatMap(({ id, name, text: args }, index) => [
      delta({ tool_calls: [{ index, id, function: { name } }] }),
      ...pieces(args).map((piece) => delta({ tool_calls: [{ index, function: { arguments: piece } }] })),
    ]),
    delta({}, { finish_reason: finish }),
    { choices: [], usage },
  ];
}

const withoutIds = (response: ResponseResource) => ({
  ...response,
  id: '',
  output: response.output.map((item) => ({ ...item, id: '' })),
});

describe('the two roads to a response', () => {
  it('agree but for ids, however the answer is cut into deltas (property)', () => {
    fc.assert(
      fc.property(answers, fc.integer({ min: 1, max: 7 }), (answer, size) => {
        const translator = new StreamTranslator(context());
        for (const chunk of asChunks(answer, size)) translator.push(chunk);
        const last = translator.finish('done').at(-1) as { response: ResponseResource };
        expect(withoutIds(last.response)).toEqual(withoutIds(asJson(answer).response));
      }),
      { numRuns: runs(1000) },
    );
  });

  it('agree where a stream has a whole message, after its reasoning or all of its deltas (property)', () => {
    fc.assert(
      fc.property(answers, fc.boolean(), (answer, isRepeated) => {
        const deltas = isRepeated ? answer : { ...answer, content: '', refusal: '', calls: [] };
        const translator = new StreamTranslator(context());
        for (const chunk of asChunks(deltas, 7).slice(0, -2)) translator.push(chunk);
        translator.push(asCompletion(answer));
        const last = translator.finish('done').at(-1) as { response: ResponseResource };
        expect(withoutIds(last.response)).toEqual(withoutIds(asJson(answer).response));
      }),
      { numRuns: runs(1000) },
    );
  });

  it('a stream made of a JSON answer keeps the rules and ends in that answer (property)', () => {
    fc.assert(
      fc.property(
        answers,
        fc.constantFrom('summary', 'summary_and_content', 'reasoning_text', 'reasoning'),
        (answer, reasoningEvents) => {
          const { response, events } = asJson(answer, { ...context(), stream: true, reasoningEvents });
          expect(events.at(-1)).toMatchObject({ response });
          expect(response).toEqual(asJson(answer, { ...context(), reasoningEvents }).response);
          if (isSummary(reasoningEvents))
            expect(faultsOfStream(`${encodeSseEvents(events)}data: [DONE]\n\n`)).toEqual([]);
        },
      ),
      { numRuns: runs(300) },
    );
  });
});
