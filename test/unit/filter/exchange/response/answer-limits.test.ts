import { describe, expect, it } from 'vitest';
import { EventStreamReader } from '../../../../../src/filter/exchange/response/event-stream-reader.ts';
import { createPassedReader } from '../../../../../src/filter/exchange/response/passed-reader.ts';
import { maxValues, mostValuesFor } from '../../../../../src/filter/exchange/response/upstream-body-reader.ts';
import { createWholeBodyReader } from '../../../../../src/filter/exchange/response/whole-body-reader.ts';
import { maxItems } from '../../../../../src/filter/translate/chat-to-response/write/output.ts';
import type { ResponseContext } from '../../../../../src/filter/translate/shared/context.ts';
import { createTestContext } from '../../../../support/context.ts';
import { faultsOfStream } from '../../../../support/invariants.ts';
import { eventsOf } from '../../../../support/stream-lines.ts';
import { wholeOf } from '../../../../support/whole-of.ts';

const MiB = 1024 * 1024;
const limits = { maxResponseBytes: 64 * MiB, maxErrorBytes: MiB, maxSseEventBytes: 8 * MiB };
const tooLarge = { type: 'response.failed', response: { error: { code: 'upstream_response_too_large' } } };

const optionsOf = (context: ResponseContext) =>
  ({
    status: 200,
    contentType: null,
    retryAfter: null,
    context,
    committed: false,
    mayReplaceStatus: true,
    limits,
  }) as const;

/** What a client gets of these deltas: one that asked for a stream, behind a text, so that nothing becomes an HTTP status. */
function streamOf(deltas: readonly object[], context = createTestContext({ stream: true })): string {
  return streamOfData(
    deltas.map((delta) => `data: ${JSON.stringify({ choices: [{ index: 0, delta }] })}`),
    context,
  );
}

function streamOfData(events: readonly string[], context = createTestContext({ stream: true })): string {
  const reader = new EventStreamReader(context, optionsOf(context));
  const data = ['data: {"choices":[{"index":0,"delta":{"content":"Hm."}}]}', ...events].map((event) => `${event}\n\n`);
  return Buffer.concat([...data, 'data: [DONE]\n\n'].map((text) => wholeOf(reader.push(Buffer.from(text))))).toString();
}

function jsonOf(message: object, context = createTestContext()): unknown {
  const reader = createWholeBodyReader('json', optionsOf(context));
  reader.push(Buffer.from(JSON.stringify({ choices: [{ index: 0, message, finish_reason: 'stop' }] })));
  return JSON.parse(wholeOf(reader.end()).toString());
}

const callsOf = (count: number) =>
  Array.from({ length: count }, (_, index) => ({
    index,
    id: `c${index}`,
    function: { name: 'f', arguments: '{}' },
  }));

describe('an answer of more items than any model makes', () => {
  const picture = (index: number) => ({ image_url: { url: `data:image/png;base64,AAAA${index}` } });
  const pictures = Array.from({ length: maxItems }, (_, index) => picture(index));

  it.each<[string, object[]]>([
    ['calls in one chunk', [{ tool_calls: callsOf(maxItems + 1) }]],
    ['calls in chunks of their own', callsOf(maxItems + 1).map((call) => ({ tool_calls: [call] }))],
    [
      'calls that run together',
      [{ tool_calls: [{ index: 0, function: { name: 'f', arguments: '{"a":1}'.repeat(4000) } }] }],
    ],
    ['reasoning and text by turns', Array.from({ length: maxItems }, () => ({ reasoning: 'a', content: 'b' }))],
    ['pictures in one chunk', [{ images: pictures }]],
  ])('fails in a stream: %s', (_, deltas) => {
    const client = streamOf(deltas);
    expect(eventsOf(client).at(-1)).toMatchObject(tooLarge);
    expect(faultsOfStream(client)).toEqual([]);
  });

  it('fails as JSON', () => {
    expect(jsonOf({ content: 'Hm.', tool_calls: callsOf(maxItems + 1) })).toMatchObject({
      status: 'failed',
      error: { code: 'upstream_response_too_large' },
    });
  });

  it('is whole with one item less', () => {
    const client = streamOf([{ tool_calls: callsOf(maxItems - 1) }]);
    expect(eventsOf(client).at(-1)).toMatchObject({ type: 'response.completed' });
  });
});

describe('an answer of more values than are read in one step', () => {
  /** JSON of so many values, as they are counted. */
  const listOf = (values: number) =>
    `{"choices":[{"index":0,"delta":{"content":"a"}}],"x":[${'1,'.repeat(values - 8)}1]}`;
  const wanting = { ...createTestContext({ stream: true }), wantsLogprobs: true };

  it.each([
    ['values of one event', `data: ${listOf(maxValues + 1)}`],
    ['lines of one event', 'data: 1\n'.repeat(maxValues + 1).trim()],
    ['lines without a value', 'data:\n'.repeat(maxValues + 1).trim()],
  ])('fails in a stream: %s', (_, event) => {
    const client = streamOfData([event, 'data: [DONE]']);
    expect(eventsOf(client).at(-1)).toMatchObject(tooLarge);
    expect(faultsOfStream(client)).toEqual([]);
  });

  it('is whole with as many, and with more where the client wants logprobs', () => {
    for (const [values, context] of [
      [maxValues, undefined],
      [mostValuesFor(wanting), wanting],
    ] as const)
      expect(eventsOf(streamOfData([`data: ${listOf(values)}`, 'data: [DONE]'], context)).at(-1)).toMatchObject({
        type: 'response.completed',
      });
  });

  it('fails as JSON', () => {
    const error = { code: 'upstream_response_too_large' };
    const more = Array.from({ length: maxValues }, () => 1);
    const reader = createWholeBodyReader('json', optionsOf(createTestContext()));
    reader.push(Buffer.from(JSON.stringify({ choices: [{ message: { content: 'a' } }], more })));
    reader.end();
    expect(reader.state.decision).toMatchObject(error);
  });

  it('passes as it came where it would only be added to', () => {
    const list = Buffer.from(`[${'1,'.repeat(100_000)}1]`);
    const reader = createPassedReader(() => ({}), MiB);
    reader.push(list);
    expect(wholeOf(reader.end())).toEqual(list);
    expect(reader.state.decision).toBe('untouched');
  });
});

it('a long answer without any blank line arrives chunk by chunk', () => {
  const context = createTestContext({ stream: true });
  const reader = new EventStreamReader(context, optionsOf(context));
  const line = 'data: {"choices":[{"index":0,"delta":{"content":"word "}}]}\n';
  const [pieces, linesOfPiece] = [128, 1000];
  let deltas = 0;
  for (let piece = 1; piece <= pieces; piece += 1) {
    deltas +=
      wholeOf(reader.push(Buffer.from(line.repeat(linesOfPiece))))
        .toString()
        .split('"word "').length - 1;
    expect(deltas).toBe(piece * linesOfPiece - 1);
  }
  const end = 'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\ndata: [DONE]\n';
  const rest = [wholeOf(reader.push(Buffer.from(end))), wholeOf(reader.end())].join('');
  const content = [{ type: 'output_text', text: 'word '.repeat(pieces * linesOfPiece) }];
  expect(eventsOf(rest).at(-1)).toMatchObject({ type: 'response.completed', response: { output: [{ content }] } });
});

describe('an answer that repeats much of its request', () => {
  const names = Array.from({ length: 30 }, (_, index) => `f${index}`);
  const tool = (name: string) => ({ type: 'function', name, description: 'd'.repeat(100_000) }) as const;
  const foundTools = Object.fromEntries(names.map((name) => [name, tool(name)]));
  const calls = names.map((name, index) => ({ index, id: name, function: { name, arguments: '{}' } }));

  it('fails where its events would take many times what came', () => {
    const client = streamOf([{ tool_calls: calls }], createTestContext({ stream: true, toolNames: names, foundTools }));
    expect(eventsOf(client).at(-1)).toMatchObject(tooLarge);
    expect(faultsOfStream(client)).toEqual([]);
    expect(client.length).toBeLessThan(20 * MiB);
  });

  it('fails as JSON too', () => {
    expect(jsonOf({ tool_calls: calls }, createTestContext({ toolNames: names, foundTools }))).toMatchObject({
      status: 'failed',
      error: { code: 'upstream_response_too_large' },
    });
  });

  it('is whole where the request was as large', () => {
    const context = createTestContext({ stream: true, toolNames: names, foundTools });
    const client = streamOf([{ tool_calls: calls }], { ...context, requestBytes: 30 * 100_000 });
    expect(eventsOf(client).at(-1)).toMatchObject({ type: 'response.completed' });
  });
});

describe('an answer of one item that its events repeat many times', () => {
  const passing = createTestContext({ stream: true, profileFlags: { passExtensions: true } });
  const citing = (from: number) => ({
    citations: Array.from({ length: 49_000 }, (_, index) => `u:${from + index}`),
    choices: [{ index: 0, delta: {} }],
  });
  const parts = Array.from({ length: 12_000 }, () => ({ type: 'x:' }));

  it.each<[string, readonly object[], ResponseContext | undefined]>([
    ['citations of one chunk', [citing(0)], undefined],
    ['citations of several chunks', [0, 1, 2, 3].map((chunk) => citing(chunk * 49_000)), undefined],
    [
      'parts of the upstream’s own',
      Array.from({ length: 10 }, () => ({ choices: [{ index: 0, delta: { content: parts } }] })),
      passing,
    ],
  ])('fails where they would take many times what came: %s', (_, chunks, context) => {
    const data = chunks.map((chunk) => `data: ${JSON.stringify(chunk)}`);
    const client = streamOfData(data, context);
    expect(eventsOf(client).at(-1)).toMatchObject(tooLarge);
    // The rules are those of OpenAI's parts, which begin empty.
    if (context === undefined) expect(faultsOfStream(client)).toEqual([]);
    expect(client.length).toBeLessThan(4 * MiB + 20 * data.join('').length);
  });
});

it('a call whose name grows beyond that of any tool fails the answer', () => {
  const client = streamOf(
    Array.from({ length: 100 }, (_, at) => ({ tool_calls: [{ index: 0, function: { name: `x${at}` } }] })),
  );
  expect(eventsOf(client).at(-1)).toMatchObject(tooLarge);
  expect(faultsOfStream(client)).toEqual([]);
});

it('of a model’s name, a tier and a reason no more than the beginning is kept', () => {
  const context = createTestContext({ stream: true });
  const reader = new EventStreamReader(context, optionsOf(context));
  const word = (letter: string) => letter.repeat(MiB);
  const choices = [{ index: 0, delta: { content: 'a' }, finish_reason: word('r') }];
  const chunk = { model: word('m'), service_tier: word('t'), choices };
  const client = [`data: ${JSON.stringify(chunk)}\n\n`, 'data: [DONE]\n\n'].map((text) =>
    wholeOf(reader.push(Buffer.from(text))).toString(),
  );
  expect(eventsOf(client.join('')).at(-1)).toMatchObject({ response: { status: 'completed', model: 'm'.repeat(512) } });
  expect(reader.state.translator?.summary()).toMatchObject({ finishReason: 'r'.repeat(512) });
});

it('counts of usage that nothing reads are not kept', () => {
  const context = createTestContext({ stream: true });
  const reader = new EventStreamReader(context, optionsOf(context));
  for (let index = 0; index < 200; index++)
    reader.push(
      Buffer.from(
        `data: {"usage":{"prompt_tokens":1,"${'k'.repeat(100)}${index}":1,"prompt_tokens_details":{"k${index}":2}}}\n\n`,
      ),
    );
  expect(reader.state.bufferedBytes).toBe(0);
});
