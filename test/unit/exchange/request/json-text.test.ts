import { describe, expect, it } from 'vitest';
import { parseJson } from '../../../../src/exchange/request/json-text.ts';
import { runSteps } from '../../../../src/exchange/steps.ts';

const big = '12345678901234567890';
const parse = (text: string) =>
  runSteps(parseJson(Buffer.from(text), 64, Number.POSITIVE_INFINITY)) as { readonly number: unknown };

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

describe('a body of many values', () => {
  it.each([
    ['objects', '{},', 2],
    ['numbers', '1,', 1],
    ['texts', '"",', 1],
  ])('is refused before it is parsed: %s', (_, value, weight) => {
    const many = (count: number) => Buffer.from(`[${value.repeat(count)}1]`);
    const most = 1000;
    const fitting = Math.floor((most - 2) / weight);
    expect(runSteps(parseJson(many(fitting), 64, most))).toHaveLength(fitting + 1);
    expect(() => runSteps(parseJson(many(fitting + 1), 64, most))).toThrow(
      expect.objectContaining({ status: 413, code: 'request_too_large' }),
    );
  });
});
