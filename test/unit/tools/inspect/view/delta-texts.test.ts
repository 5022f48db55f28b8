import { describe, expect, it } from 'vitest';
import { createDeltaTexts } from '../../../../../src/tools/inspect/view/delta-texts.ts';

/** The messages of a stream in which the text is found. */
function found(messages: readonly unknown[], text: string): number[] {
  const texts = createDeltaTexts<number>();
  for (const [index, message] of messages.entries())
    texts.add(typeof message === 'string' ? message : JSON.stringify(message), index);
  return [...texts.find([text])];
}

const chunk = (delta: unknown, index = 0) => ({ choices: [{ index, delta }] });
const event = (type: string, output_index: number, delta: string) => ({ type, output_index, delta });
const call = (index: number, given: string) => chunk({ tool_calls: [{ index, function: { arguments: given } }] });

describe('a text cut between deltas', () => {
  it.each([
    [
      'a chunk’s content',
      [chunk({ role: 'assistant', content: 'the Ze' }), chunk({ content: 'bR' }), chunk({ content: 'a' })],
    ],
    ['its reasoning', [chunk({ reasoning_content: 'zeb' }), chunk({ reasoning_content: 'ra' })]],
    ['an event’s delta', [event('t', 0, 'ze'), event('t', 0, 'bra')]],
    ['the arguments of a call', [call(1, '{"ze'), call(1, 'bra"}')]],
  ])('is found in every message that holds a share of it: %s', (_what, messages) => {
    expect(found([...messages, chunk({ content: ' runs' })], 'zebra')).toEqual(messages.map((_, index) => index));
  });

  it.each([
    ['of two choices', [chunk({ content: 'ze' }), chunk({ content: 'bra' }, 1)]],
    ['of two calls', [call(0, 'ze'), call(1, 'bra')]],
    ['of two fields', [chunk({ content: 'ze' }), chunk({ reasoning: 'bra' })]],
    ['of two output items', [event('t', 0, 'ze'), event('t', 1, 'bra')]],
    ['of two kinds of event', [event('t', 0, 'ze'), event('u', 0, 'bra')]],
    ['of fields that chunks repeat', [chunk({ id: 'ze' }), chunk({ id: 'bra' })]],
  ])('is not made of deltas %s', (_what, messages) => {
    expect(found(messages, 'zebra')).toEqual([]);
  });

  it('is found across a comment that keeps the connection open', () => {
    expect(found([chunk({ content: 'ze' }), ': ping', chunk({ content: 'bra' })], 'zebra')).toEqual([0, 2]);
  });

  it('is found each time, and only where it is', () => {
    const messages = ['a ze', 'bra and', ' a ', 'zebra', ' and'].map((content) => chunk({ content }));
    expect(found(messages, 'zebra')).toEqual([0, 1, 3]);
    expect(found(messages, 'and a')).toEqual([1, 2]);
  });
});

describe('anything else in a stream', () => {
  it.each([
    ['no JSON', 'x "delta"'],
    ['no object', '"\\"delta\\""'],
    ['no list of choices', { choices: { delta: 'a' }, delta: null }],
    ['no choices', { choices: [null, 5, { index: { toString: 1 }, delta: [null] }], delta: 7 }],
    ['no names', { type: { toString: 1 }, output_index: [[]], delta: {} }],
    ['far too deep', `{"delta":${'['.repeat(5000)}${']'.repeat(5000)}}`],
  ])('is not text: %s', (_what, message) => {
    expect(found([message], 'a')).toEqual([]);
  });

  it('is bounded: of 10,001 texts the last is left out', () => {
    const names = Array.from({ length: 10_001 }, (_, index) => `n${index}`);
    const message = { delta: Object.fromEntries(names.map((name) => [name, `${name}.`])) };
    expect(found([message], 'n9999.')).toEqual([0]);
    expect(found([message], 'n10000.')).toEqual([]);
  });
});
