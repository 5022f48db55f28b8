import { describe, expect, it } from 'vitest';
import { parseJson } from '../../../src/exchange/json-text.ts';

const big = '12345678901234567890';
const parse = (text: string) => parseJson(Buffer.from(text), 64) as { readonly number: unknown };

describe('a number that a double would change', () => {
  it('is written as it was read', () => {
    expect(JSON.stringify(parse(`{"number":${big}}`))).toBe(`{"number":${big}}`);
  });

  it.each([
    ['values', '{},'.repeat(110_000)],
    ['commas', '1,'.repeat(210_000)],
  ])('is an ordinary number in a body of too many %s for the exact parse', (_, many) => {
    expect(parse(`{"number":${big},"many":[${many}0]}`).number).toBe(Number(big));
  });

  it('is kept in a long body of few values', () => {
    const text = `{"number":${big},"text":"${',{['.repeat(300_000)}"}`;
    expect(JSON.stringify(parse(text))).toBe(text);
  });
});
