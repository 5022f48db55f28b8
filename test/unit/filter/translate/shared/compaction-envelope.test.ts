import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  decodeCompactionEnvelope,
  encodeCompactionEnvelope,
} from '../../../../../src/filter/translate/shared/envelopes.ts';

const envelope = (json: string) => `orc1.${Buffer.from(json).toString('base64url')}`;

test('every summary comes back as it was', () => {
  const texts = fc.string({ unit: 'grapheme', minLength: 1 });
  fc.assert(
    fc.property(texts, fc.option(fc.string({ minLength: 1 }), { nil: undefined }), (text, model) => {
      const given = { text, ...(model === undefined ? {} : { model }) };
      expect(decodeCompactionEnvelope(encodeCompactionEnvelope(given))).toEqual(given);
    }),
  );
});

test('one that is cut anywhere is damaged, or is not one of ours any more', () => {
  const whole = encodeCompactionEnvelope({ text: 'The code word is heron.' });
  for (let length = 0; length < whole.length; length++)
    expect(decodeCompactionEnvelope(whole.slice(0, length))).toBe(length < 5 ? 'foreign' : 'damaged');
});

describe('what is not ours', () => {
  test.each(['', 'gAAAAABo', 'orr1.e30', 'ORC1.e30'])('%j is foreign', (text) => {
    expect(decodeCompactionEnvelope(text)).toBe('foreign');
  });

  test.each([
    ['no JSON', 'x'],
    ['no object', '"x"'],
    ['an empty summary', '{"v":1,"text":"","sum":"e3b0c44298fc1c14"}'],
    ['another version', '{"v":2,"text":"x","sum":"2d711642b726b044"}'],
    ['another text', '{"v":1,"text":"y","sum":"2d711642b726b044"}'],
    ['no checksum', '{"v":1,"text":"x"}'],
    ['a million values', `{"v":1,"text":"x","sum":"2d711642b726b044","more":[${'[],'.repeat(1_000_000)}0]}`],
  ])('%s behind the prefix is damaged', (_what, json) => {
    expect(decodeCompactionEnvelope(envelope(json))).toBe('damaged');
  });

  test('the checksum of those cases is right where it is not what they are about', () => {
    expect(decodeCompactionEnvelope(envelope('{"v":1,"text":"x","sum":"2d711642b726b044"}'))).toEqual({ text: 'x' });
  });
});
