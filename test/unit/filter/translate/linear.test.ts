import { describe, expect, it } from 'vitest';
import { StreamTranslator } from '../../../../src/filter/translate/chat-to-response/stream.ts';
import { createTestContext } from '../../../support/context.ts';
import { growthOf, maxLinearGrowth } from '../../../support/growth.ts';

const call = (index: number, fields: object) => ({ tool_calls: [{ index, id: `c${index}`, function: fields }] });
const cite = (index: number) => ({
  type: 'url_citation',
  url: `https://a.test/${index}`,
  start_index: index,
  end_index: index,
});

/** Streams of one kind of delta, as models that loop and servers that misbehave give them. */
const kinds: Record<string, (index: number) => object> = {
  text: () => ({ content: 'ab' }),
  'white space': () => ({ content: ' ' }),
  'reasoning and text by turns': (index) => (index % 2 === 0 ? { reasoning: 'a' } : { content: 'b' }),
  'text and refusals by turns': (index) => (index % 2 === 0 ? { refusal: 'a' } : { content: 'b' }),
  'reasoning details': () => ({ reasoning: 'a', reasoning_details: [{ type: 'reasoning.text', text: 'a', index: 0 }] }),
  'thought signatures': (index) => ({ extra_content: { google: { thought_signature: `s${index}` } } }),
  citations: (index) => ({ content: 'a', annotations: [cite(index)] }),
  'citations before any text': (index) => ({ annotations: [cite(index)] }),
  calls: (index) => call(index, { name: 'f', arguments: '{}' }),
  'calls without a name': (index) => call(index, {}),
  'calls whose name may grow': (index) => call(index, { name: 'get' }),
  arguments: () => call(0, { name: 'f', arguments: 'ab}' }),
  'arguments of a call that waits': (index) => call(index % 2, { name: 'f', arguments: 'ab}' }),
  'arguments of a call that others wait for': (index) =>
    call(index === 1 ? 1 : 0, { name: 'f', arguments: index === 0 ? '{"a":"' : '}' }),
  'arguments of a call that may repeat another': (index) =>
    index === 0
      ? { tool_calls: [{ index: 0, id: 'a', function: { name: 'f', arguments: '{"x":1}' } }] }
      : index === 1
        ? { tool_calls: [{ index: 1, id: 'a', function: { name: 'f', arguments: '{"a":"' } }] }
        : { tool_calls: [{ index: 1, function: { arguments: 'some text that ends in }' } }] },
  'calls that wait': (index) => call(index, { name: 'f', arguments: index === 0 ? '{' : '{}' }),
  'arguments without a name': () => call(0, { arguments: 'ab' }),
  'complete arguments, again and again': () => call(0, { name: 'f', arguments: '{}' }),
  'the same name, again and again': () => call(0, { name: 'x' }),
  'input of a custom tool': (index) => call(0, { name: 'p', arguments: index === 0 ? '{"input":"' : 'ab\\n' }),
  'line feeds in the input of a custom tool': (index) =>
    call(0, { name: 'p', arguments: index === 0 ? '{"input":"' : '\\n'.repeat(64) }),
  'white space for arguments': (index) => call(0, index === 0 ? { name: 'f' } : { arguments: ' '.repeat(64) }),
  'arguments in a text that another call waits for': (index) =>
    call(
      index === 1 ? 1 : 0,
      index < 2 ? { name: 'f', arguments: index === 0 ? '"{' : '{}' } : { arguments: 'abc}\\"' },
    ),
  'calls by a name that nobody offered': (index) => call(index % 1000, { name: `g${index}`, arguments: '{}' }),
  'white space before the input': () => call(0, { name: 'p', arguments: ' ' }),
  'the beginning of a tag': () => ({ content: '<' }),
};

/** See `growthOf`. */
function growthFor(delta: (index: number) => object, thinkTags: 'off' | 'on'): number {
  const settings = {
    toolNames: ['f', 'get', 'get_weather'],
    restoredTools: { p: { kind: 'custom' as const, name: 'p' } },
  };
  return growthOf(500, (count) => {
    const chunks = Array.from({ length: count }, (_, index) => ({ choices: [{ index: 0, delta: delta(index) }] }));
    return () => {
      const translator = new StreamTranslator(
        createTestContext({ ...settings, wantsEncryptedReasoning: true, profileFlags: { thinkTags } }),
      );
      for (const chunk of chunks) translator.push(chunk);
      translator.finish('done');
    };
  });
}

describe('the cost of a stream grows with its number of chunks, not with the square of it', () => {
  it.each(Object.entries(kinds))('%s', (_, delta) => {
    expect(growthFor(delta, 'off')).toBeLessThan(maxLinearGrowth);
  });

  it.each(['white space', 'the beginning of a tag', 'text'])('%s, where think tags are read', (kind) => {
    expect(growthFor(kinds[kind] ?? (() => ({})), 'on')).toBeLessThan(maxLinearGrowth);
  });
});

it('counts of usage under new names cost as much as they are many', () => {
  const growth = growthOf(500, (count) => {
    const chunks = Array.from({ length: count }, (_, index) => ({
      usage: { prompt_tokens: 1, [`key-${index}`]: index },
    }));
    return () => {
      const translator = new StreamTranslator(createTestContext());
      for (const chunk of chunks) translator.push(chunk);
    };
  });
  expect(growth).toBeLessThan(maxLinearGrowth);
});

it('data of many empty lines that is not JSON costs as much as it has lines', () => {
  const growth = growthOf(500, (count) => {
    const text = `${'\n'.repeat(count)}x`;
    return () => new StreamTranslator(createTestContext()).malformed(text);
  });
  expect(growth).toBeLessThan(maxLinearGrowth);
});
