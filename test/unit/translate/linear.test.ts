import { describe, expect, it } from 'vitest';
import { StreamTranslator } from '../../../src/translate/stream.ts';
import { createTestContext } from '../../support/context.ts';

const COUNT = 40_000;
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
  'arguments without a name': () => call(0, { arguments: 'ab' }),
  'complete arguments, again and again': () => call(0, { name: 'f', arguments: '{}' }),
  'a name in pieces': () => call(0, { name: 'x' }),
  'input of a custom tool': (index) => call(0, { name: 'p', arguments: index === 0 ? '{"input":"' : 'ab\\n' }),
  'white space before the input': () => call(0, { name: 'p', arguments: ' ' }),
  'the beginning of a tag': () => ({ content: '<' }),
};

/** Milliseconds for so many chunks of a kind. */
function cost(delta: (index: number) => object, thinkTags: boolean): number {
  const settings = {
    toolNames: ['f', 'get', 'get_weather'],
    restoredTools: { p: { kind: 'custom' as const, name: 'p' } },
  };
  const translator = new StreamTranslator(
    createTestContext({ ...settings, wantsEncryptedReasoning: true, profileFlags: { thinkTags } }),
  );
  const start = performance.now();
  for (let index = 0; index < COUNT; index++) translator.push({ choices: [{ index: 0, delta: delta(index) }] });
  translator.finish('done');
  return performance.now() - start;
}

describe(`${COUNT} chunks cost no more than their number`, () => {
  // Each takes well under a second; a cost that grows with the square takes 30 s and more.
  it.each(Object.entries(kinds))('%s', (_, delta) => {
    expect(cost(delta, false)).toBeLessThan(15_000);
  });

  it.each(['white space', 'the beginning of a tag', 'text'])('%s, where think tags are read', (kind) => {
    expect(cost(kinds[kind] ?? (() => ({})), true)).toBeLessThan(15_000);
  });
});
