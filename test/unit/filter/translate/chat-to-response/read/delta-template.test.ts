import { expect, it } from 'vitest';
import { DeltaTemplate } from '../../../../../../src/filter/translate/chat-to-response/read/delta-template.ts';
import {
  type DeltaField,
  readFastDelta,
} from '../../../../../../src/filter/translate/chat-to-response/read/fast-delta.ts';

const json = (delta: object, id: unknown = 'c') => JSON.stringify({ id, model: 'm', choices: [{ index: 0, delta }] });
const content = (text: string, id: unknown = 'c') => json({ content: text }, id);
const read = (value: object) => readFastDelta(value as Record<string, unknown>, 0, null);
const ofContent: DeltaField = { name: 'content' };

const kinds: [DeltaField, (text: string) => string][] = [
  [ofContent, content],
  [{ name: 'reasoning_content' }, (text) => json({ content: null, reasoning_content: text })],
  [{ name: 'reasoning' }, (text) => json({ role: 'assistant', content: '', reasoning: text })],
  [
    { name: 'arguments', index: 3 },
    (text) => json({ tool_calls: [{ id: null, index: 3, function: { name: null, arguments: text } }] }),
  ],
];

it.each(kinds)('learns the JSON around a text once: %j', (field, write) => {
  const template = new DeltaTemplate();
  template.learn(write('"}\\'), field, read);
  for (const text of ['two', 'quotes " and \\ and \n', '漢字 😀', '\ud83d']) {
    expect(template.match(write(text))).toBe(text);
    expect(template.field).toEqual(field);
  }
  template.forget();
  expect(template.match(write('two'))).toBeNull();
});

it('learns it from a text in any spelling', () => {
  const template = new DeltaTemplate();
  const spelt = content('|').replace('|', '\\u006fn\\u0065 \\/\\"');
  template.learn(spelt, ofContent, read);
  expect(template.match(content('two'))).toBe('two');
  expect(template.match(spelt)).toBe('one /"');
});

it('matches nothing that differs elsewhere, or is not a string', () => {
  const template = new DeltaTemplate();
  template.learn(content('one'), ofContent, read);
  const [head, tail] = content('|').split('|');
  const others = [`${head}a","b":"c${tail}`, `${head}\\${tail}`, `${head}\n${tail}`, `${head}${tail}`.slice(1), ''];
  for (const other of [content('two', 'd'), content(''), ...others]) expect(template.match(other)).toBeNull();
});

it('takes no other place for that of the text', () => {
  const template = new DeltaTemplate();
  template.learn(content('one', { content: 'one' }), ofContent, read);
  expect(template.match(content('one', { content: 'two' }))).toBeNull();
  // A name that is written with escapes is not found.
  template.learn(content('one').replace('content', 'c\\u006fntent'), ofContent, read);
  expect(template.match(content('two'))).toBeNull();
});

it('does not keep a chunk of more than 16 KiB', () => {
  const template = new DeltaTemplate();
  template.learn(content('one', 'c'.repeat(16 * 1024)), ofContent, read);
  expect(template.match(content('two', 'c'.repeat(16 * 1024)))).toBeNull();
  template.learn(content('one', 'c'.repeat(15 * 1024)), ofContent, read);
  expect(template.match(content('two', 'c'.repeat(15 * 1024)))).toBe('two');
});

it.each([
  [15, 'two'],
  [16, null],
])('is given up on after 16 chunks of which none was the same: %i', (chunks, expected) => {
  const template = new DeltaTemplate();
  for (let id = 0; id < chunks; id++) template.learn(content('one', id), ofContent, read);
  template.forget();
  template.learn(content('one'), ofContent, read);
  expect(template.match(content('two'))).toBe(expected);
});
