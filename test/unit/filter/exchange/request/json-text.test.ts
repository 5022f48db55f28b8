import { describe, expect, it } from 'vitest';
import { checkJson } from '../../../../../src/filter/exchange/request/request-body.ts';
import type { Hold } from '../../../../../src/filter/exchange/types.ts';
import { ApiError } from '../../../../../src/filter/wire/schema/api-error.ts';

const big = '12345678901234567890';
const parse = (text: string) =>
  checkJson(Buffer.from(text), { maxNesting: 64, maxValues: Number.POSITIVE_INFINITY })() as {
    readonly number: unknown;
  };

describe('a number that a double would change', () => {
  it('is written as it was read', () => {
    expect(JSON.stringify(parse(`{"number":${big}}`))).toBe(`{"number":${big}}`);
  });

  it('is kept among as many values as a body may have, and among more', () => {
    for (const values of [50_001, 100_000, 210_000]) {
      const among = `{"number":${big},"many":[${'1,'.repeat(values - 4)}0]}`;
      expect(JSON.stringify(parse(among))).toBe(among);
    }
  });

  it('is kept in a long body of few values', () => {
    const text = `{"number":${big},"text":"${',{['.repeat(300_000)}"}`;
    expect(JSON.stringify(parse(text))).toBe(text);
  });
});

describe('what a body takes while it is translated', () => {
  const read = (text: string, hold: Hold) => checkJson(Buffer.from(text), { maxNesting: 64, maxValues: 1000 }, hold)();
  const body = (size: number) => '[1,2]'.padEnd(size);

  it('is counted by its bytes and values, from 64 KiB on', () => {
    const asked: [number, number | undefined][] = [];
    const hold: Hold = (bytes, ofBody) => {
      asked.push([bytes, ofBody]);
      return null;
    };
    read(body(64 * 1024 - 1), hold);
    expect(asked).toEqual([]);
    read(body(64 * 1024), hold);
    // A bracket and a comma count as a value each, and the whole as one.
    expect(asked).toEqual([[13 * 64 * 1024 + 200 * 3, 64 * 1024]]);
  });

  it('is refused where it is too much', () => {
    const full = new ApiError('full', { status: 503, type: 'server_error', code: 'full' });
    expect(() => read(body(100_000), () => full)).toThrow('full');
  });
});

describe('a body of many values', () => {
  it.each([
    ['objects', '{},', 2],
    ['numbers', '1,', 1],
    ['texts', '"",', 1],
  ])('is refused before it is parsed: %s', (_, value, weight) => {
    const many = (count: number) => Buffer.from(`[${value.repeat(count)}1]`);
    const limits = { maxNesting: 64, maxValues: 1000 };
    const fitting = Math.floor((limits.maxValues - 2) / weight);
    expect(checkJson(many(fitting), limits)()).toHaveLength(fitting + 1);
    expect(() => checkJson(many(fitting + 1), limits)).toThrow(
      expect.objectContaining({ status: 413, code: 'request_too_large' }),
    );
  });
});

describe('a body that is refused', () => {
  const refusal = (bytes: Uint8Array) => {
    try {
      checkJson(bytes, { maxNesting: 2, maxValues: 6 })();
    } catch (thrown) {
      return (thrown as ApiError).status === undefined
        ? thrown
        : { status: (thrown as ApiError).status, ...(thrown as ApiError).toObject() };
    }
    return null;
  };
  const invalid = { status: 400, type: 'invalid_request', param: null };

  it.each([
    ['[1,2,3,4,5]', null],
    [
      '[1,2,3,4,5,6]',
      {
        ...invalid,
        status: 413,
        code: 'request_too_large',
        message: 'The request body holds too many values: more than 6. Send fewer items or smaller tools.',
      },
    ],
    ['[[1]]', null],
    [
      '[[[1]]]',
      {
        ...invalid,
        code: 'nesting_too_deep',
        message:
          'The request body is nested too deeply: more than 2 levels of objects and arrays at character 2. Flatten it, or send the nested part as text.',
      },
    ],
    [
      '[\xff]',
      {
        ...invalid,
        code: 'invalid_json',
        message: 'The request body is not valid JSON: it is not UTF-8. Send it in UTF-8.',
      },
    ],
  ])('%s', (text, expected) => {
    expect(refusal(Buffer.from(text, 'latin1'))).toEqual(expected);
  });
});
