import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  decodeReasoningEnvelope,
  encodeReasoningEnvelope,
} from '../../../../../src/filter/translate/shared/envelopes.ts';
import { codePoint } from '../../../../support/code-point.ts';

const decoded = (text: string, maxNesting = 64) => {
  const outcome = decodeReasoningEnvelope(text, maxNesting, 1_000_000);
  return typeof outcome === 'object' && outcome !== null ? outcome.envelope : outcome;
};
const encoded = (value: unknown) => `orr1.${Buffer.from(JSON.stringify(value)).toString('base64url')}`;

describe('decodeReasoningEnvelope', () => {
  it('gives back what was encoded', () => {
    const envelope = fc.record(
      {
        t: fc.string({ unit: codePoint, minLength: 1 }),
        d: fc.array(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 1 }), { maxKeys: 4 }), { maxLength: 3 }),
        g: fc.dictionary(fc.string(), fc.string(), { maxKeys: 4 }),
        p: fc.string({ minLength: 1 }),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(envelope, (value) => {
        const text = encodeReasoningEnvelope(value);
        expect(text).toMatch(/^orr1\.[\w-]+$/);
        expect(decoded(text)).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  it.each([
    ['OpenAI’s own', 'gAAAAABo-tokens'],
    ['nothing', ''],
    ['nothing inside', 'orr1.'],
    ['no JSON inside', `orr1.${Buffer.from('{"t":').toString('base64url')}`],
    ['a list inside', encoded([1])],
    ['a text inside', encoded('t')],
    ['another version', encoded({ t: 'a' }).replace('orr1', 'orr2')],
  ])('is null for %s', (_, text) => {
    expect(decoded(text)).toBeNull();
  });

  it('is null for what is nested deeper than allowed, however deep', () => {
    const nested = (levels: number) =>
      `orr1.${Buffer.from(`{"d":${'['.repeat(levels)}${']'.repeat(levels)}}`).toString('base64url')}`;
    expect(decoded(nested(3), 4)).toEqual({ d: [[[]]] });
    expect(decoded(nested(4), 4)).toBeNull();
    expect(decoded(nested(900_000), 4)).toBeNull();
  });

  it('leaves out fields of the wrong type: a client can write what it likes', () => {
    expect(decoded(encoded({ t: 1, d: {}, g: { a: 's', b: 2 }, p: null, x: 1 }))).toEqual({
      g: { a: 's' },
    });
  });

  it('counts its values, whatever its strings hold, and parses no more than it may', () => {
    const text = encoded({ t: 'a, [b], {"c": "\\\\"}', d: [{}, [1, 2]], p: 'x' });
    expect(decodeReasoningEnvelope(text, 64, 100)).toMatchObject({ values: 9 });
    expect(decodeReasoningEnvelope(text, 64, 9)).toMatchObject({ values: 9 });
    expect(decodeReasoningEnvelope(text, 64, 8)).toBe('too_many_values');
    expect(decodeReasoningEnvelope(`orr1.${Buffer.from('{"t":"[[[[').toString('base64url')}`, 64, 2)).toBeNull();
  });

  it('never throws', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.base64String().map((text) => `orr1.${text}`),
        ),
        (text) => {
          const envelope = decoded(text);
          expect(envelope === null || typeof envelope === 'object').toBe(true);
        },
      ),
    );
  });
});
