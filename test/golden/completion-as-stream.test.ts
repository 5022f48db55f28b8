import { describe, expect, it } from 'vitest';
import { translateCompletion } from '../../src/filter/translate/chat-to-response/completion.ts';
import { StreamTranslator } from '../../src/filter/translate/chat-to-response/stream.ts';
import type { ResponseResource } from '../../src/filter/wire/schema/response-resource.ts';
import { createTestContext } from '../support/context.ts';
import { blockOf, type GoldenCase, goldenCases } from '../support/golden.ts';

/**
 * The two roads to a Response must agree: every JSON case, sent as a stream whose first chunk has the whole message and
 * whose second has the rest, ends in the same Response but for ids.
 */
const cases = goldenCases('completion').filter(
  (golden) => blockOf(golden, 'client') !== null && blockOf(golden, 'request') === null,
);

describe.each(cases)('$where: $title', (golden) => {
  it('ends as a stream in the same response', () => {
    const completion = JSON.parse(blockOf(golden, 'upstream') ?? '');
    const asJson = translateCompletion(completion, contextOf(golden)).response;
    expect(withoutIds(streamed(golden, completion))).toEqual(withoutIds(asJson));
  });
});

// Log probabilities belong to tokens, which the halves of a text cut.
describe.each(cases.filter((golden) => !blockOf(golden, 'upstream')?.includes('logprobs')))(
  '$where: $title',
  (golden) => {
    it('ends in the same items, in the same order, when each part of it is a chunk', () => {
      const completion = JSON.parse(blockOf(golden, 'upstream') ?? '');
      const asJson = translateCompletion(completion, contextOf(golden)).response;
      expect(withoutIds(streamed(golden, completion, inParts))).toEqual(withoutIds(asJson));
    });
  },
);

/** Reasoning and what only carries an envelope, then the content in its parts or halves, then what follows it. */
function inParts(message: Record<string, unknown>): Record<string, unknown>[] {
  const { content, refusal, images, tool_calls, function_call, ...first } = message;
  const given = { refusal, images, tool_calls, function_call };
  const last = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  const middle = typeof content === 'string' ? Math.ceil(content.length / 2) : 0;
  const parts = typeof content === 'string' ? [content.slice(0, middle), content.slice(middle)] : [content];
  const contents = Array.isArray(content) ? content.map((part) => [part]) : parts;
  return [first, ...contents.map((part) => ({ content: part })), last];
}

interface Completion {
  readonly choices: readonly Record<string, unknown>[];
  readonly error?: unknown;
}

function streamed(
  golden: GoldenCase,
  { error, ...completion }: Completion,
  cut: (message: Record<string, unknown>) => readonly Record<string, unknown>[] = (message) => [message],
): ResponseResource {
  const chunks = zeroFirst(completion.choices).flatMap(
    ({ message, finish_reason: _, native_finish_reason: __, error: ___, ...choice }, at) => {
      const deltas = objectIn(message) ? cut(message) : [message];
      // What the choice has beside its message comes once.
      return deltas.map((delta, index) => ({
        ...(index === 0 ? choice : { index: choice['index'] ?? at }),
        ...(delta !== undefined && { delta }),
      }));
    },
  );
  const last = completion.choices.map(({ index, finish_reason, native_finish_reason, error: failure }) => ({
    index,
    delta: {},
    finish_reason,
    native_finish_reason,
    error: failure,
  }));
  const translator = new StreamTranslator(contextOf(golden));
  const events = [
    ...(chunks.length > completion.choices.length
      ? chunks.flatMap((choice) => translator.push({ ...completion, choices: [choice] }))
      : translator.push({ ...completion, choices: chunks })),
    ...translator.push({ ...(error !== undefined && { error }), choices: last }),
    ...translator.finish('done'),
  ];
  const end = events.at(-1);
  if (end === undefined || !('response' in end)) throw new Error('the stream did not end in a response');
  return end.response;
}

function contextOf(golden: GoldenCase) {
  return createTestContext(JSON.parse(blockOf(golden, 'context') ?? '{}'));
}

/** The order in which a stream must have them: the first with a text is the answer's. */
function zeroFirst<Choice extends { readonly index?: unknown }>(choices: readonly Choice[]): readonly Choice[] {
  return choices.toSorted((first, second) => Number(second.index === 0) - Number(first.index === 0));
}

function objectIn(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Without ids and what is keyed by them. What only carries an envelope ends a stream, but begins a JSON answer. */
function withoutIds(response: ResponseResource): unknown {
  const output = response.output.map((item) => ({
    ...item,
    id: '',
    ...('call_id' in item && { call_id: '' }),
    ...('encrypted_content' in item && { encrypted_content: '' }),
  }));
  const isCarrier = (item: object): boolean => 'encrypted_content' in item && !('content' in item);
  return { ...response, id: '', output: [...output.filter((item) => !isCarrier(item)), ...output.filter(isCarrier)] };
}
