import { describe, expect, it } from 'vitest';
import { GrowingText, HeldBytes, JsonList } from '../../../../../src/filter/translate/shared/held-bytes.ts';
import { jsonParts } from '../../../../../src/formats/json/parts.ts';

describe('a list kept as JSON', () => {
  const entryOf = (index: number) => ({ type: 'a', [`${index}`.padEnd(60, 'k')]: '漢\ud800', bytes: [1, -0.5, null] });

  it('gives back what was put in, and is written as that, short or long', () => {
    for (const count of [0, 1, 5000]) {
      const list = new JsonList<object>(new HeldBytes());
      const values = Array.from({ length: count }, (_, index) => entryOf(index));
      for (const value of values) list.push(value);
      expect(list.all()).toEqual(values);
      expect(JSON.stringify(list.toBeWritten())).toBe(JSON.stringify(values));
      expect([...jsonParts(list.toBeWritten())].join('')).toBe(JSON.stringify(values));
    }
  });

  it('is counted as its JSON, until it is cleared', () => {
    const held = new HeldBytes();
    const list = new JsonList<object>(held);
    for (let index = 0; index < 1000; index += 1) list.push(entryOf(index));
    const json = Buffer.byteLength(JSON.stringify(list.all()));
    expect(held.bytes).toBeGreaterThan(json);
    expect(held.bytes).toBeLessThan(1.1 * json);
    list.clear();
    list.clear();
    expect(held.bytes).toBe(0);
    expect(list.all()).toEqual([]);
  });

  it('leaves out what is nested deeper than JSON can be written', () => {
    const list = new JsonList<object>(new HeldBytes());
    list.push(JSON.parse(`{"a":${'['.repeat(50_000)}${']'.repeat(50_000)}}`));
    list.push({ b: 1 });
    expect(list.all()).toEqual([{ b: 1 }]);
  });
});

describe('a text that grows', () => {
  it('counts nothing for being read, however often', () => {
    const held = new HeldBytes();
    const text = new GrowingText(held);
    text.append('a');
    text.toString();
    const { bytes } = held;
    for (let time = 0; time < 3; time += 1) expect(text.toString()).toBe('a');
    expect(held.bytes).toBe(bytes);
    text.clear();
    expect(held.bytes).toBe(0);
  });

  it('of which nothing came counts nothing', () => {
    const held = new HeldBytes();
    expect(new GrowingText(held).toString()).toBe('');
    expect(held.bytes).toBe(0);
  });
});
