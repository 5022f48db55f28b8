import { readdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { ResponseResource } from '../../src/schema/response-resource.ts';
import { translateCompletion } from '../../src/translate/completion.ts';
import { StreamTranslator } from '../../src/translate/stream.ts';
import { createTestContext } from '../support/context.ts';
import { blockOf, type GoldenCase, readGoldenCases } from '../support/golden.ts';

/**
 * The two roads to a Response must agree: every JSON case, sent as a stream whose first chunk has the whole message and
 * whose second has the rest, ends in the same Response but for ids.
 */
const files = readdirSync(new URL('.', import.meta.url)).filter((name) => /^completion-.*\.md$/.test(name));
const cases = files
  .flatMap((name) => readGoldenCases(new URL(name, import.meta.url)))
  .filter((golden) => blockOf(golden, 'client') !== null && blockOf(golden, 'request') === null)
  // A stream takes a choice of another index only when it comes alone (A20): the next chunk may bring index 0.
  .filter(({ title }) => title !== '1.2 without an index 0 the first choice counts');

describe.each(cases)('$where: $title', (golden) => {
  it('ends as a stream in the same response', () => {
    const completion = JSON.parse(blockOf(golden, 'upstream') ?? '');
    const asJson = translateCompletion(completion, contextOf(golden)).response;
    expect(withoutIds(streamed(golden, completion))).toEqual(withoutIds(asJson));
  });
});

interface Completion {
  readonly choices: readonly Record<string, unknown>[];
  readonly error?: unknown;
}

function streamed(golden: GoldenCase, { error, ...completion }: Completion): ResponseResource {
  const first = completion.choices.map(({ message, finish_reason: _, error: __, ...choice }) => ({
    ...choice,
    ...(message !== undefined && { delta: message }),
  }));
  const last = completion.choices.map(({ index, finish_reason, error: failure }) => ({
    index,
    delta: {},
    finish_reason,
    error: failure,
  }));
  const translator = new StreamTranslator(contextOf(golden));
  const events = [
    ...translator.push({ ...completion, choices: first }),
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
