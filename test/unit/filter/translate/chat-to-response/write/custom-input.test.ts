import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CustomInputDecoder } from '../../../../../../src/filter/translate/chat-to-response/write/custom-input.ts';
import { runs } from '../../../../../support/property-runs.ts';

function decode(pieces: readonly string[]): { deltas: string[]; isReading: boolean } {
  const decoder = new CustomInputDecoder();
  const deltas = [...pieces.map((piece) => decoder.push(piece)), decoder.finish()];
  return { deltas, isReading: decoder.isReading() };
}

/** JSON of a string with some of its characters as `\\uXXXX`, as models write them. */
function escaped(text: string, every: number): string {
  const hex = (index: number) => `\\u${text.charCodeAt(index).toString(16).padStart(4, '0')}`;
  return Array.from({ length: text.length }, (_, index) =>
    index % every === 0 ? hex(index) : JSON.stringify(text[index]).slice(1, -1),
  ).join('');
}

/** Is the input whole, as far as these pieces say? */
function isWhole(pieces: readonly string[]): boolean {
  const decoder = new CustomInputDecoder();
  for (const piece of pieces) decoder.push(piece);
  return decoder.isWhole();
}

describe('the input of a wrapped custom tool', () => {
  it.each([
    ['n', '\n'],
    ['t', '\t'],
    ['r', '\r'],
    ['b', '\b'],
    ['f', '\f'],
    ['"', '"'],
    ['\\', '\\'],
    ['/', '/'],
    ['u00e9', 'é'],
    ['u00E9', 'é'],
    ['ud800', '\ud800'],
    ['udbff', '\udbff'],
    ['udc00', '\udc00'],
    ['ue000', '\ue000'],
  ])('has the escape \\%s undone', (letters, expected) => {
    const json = `{"input":"a\\${letters}b"}`;
    expect(decode([json]).deltas.join('')).toBe(`a${expected}b`);
    expect(decode([...json]).deltas.join('')).toBe(`a${expected}b`);
  });

  it.each([0xd800, 0xdbff])('keeps the high surrogate %i back for its other half', (code) => {
    const [high, low] = [String.fromCharCode(code), '\udc00'];
    expect(decode([`{"input":"a${high}`, `${low}b"}`]).deltas).toEqual(['a', `${high}${low}b`, '']);
    expect(decode([`{"input":"a${high}`]).deltas).toEqual(['a', high]);
  });

  it('keeps nothing back that is no high surrogate', () => {
    for (const code of [0xd7ff, 0xdc00])
      expect(decode([`{"input":"a${String.fromCharCode(code)}`]).deltas).toEqual([`a${String.fromCharCode(code)}`, '']);
  });

  it.each([
    [['{"input":"a"'], true],
    [['{"input":"a" '], true],
    [['{"input":"a"', '}'], true],
    [['{"input":"a"', ' ', '\n}'], true],
    [['{"input":"a"', ' , "b":1}'], true],
    [['{"input":"a" }', 'x'], true],
    [['{"input":"a"', 'b'], false],
    [['{"input":"a"', ' b', '}'], false],
    [['{"input":"a" b"', '}'], false],
    [['{"input":"a'], false],
    [['{"input":'], false],
    [['{"patch":"a"}'], false],
  ])('is whole where its string ended, and its object goes on or ends: %j', (pieces, expected) => {
    expect(isWhole(pieces)).toBe(expected);
  });

  it('comes out as it went in, wherever it is cut (property)', () => {
    const text = fc.string({ unit: 'grapheme' });
    const cuts = fc.array(fc.nat(200), { maxLength: 8 });
    fc.assert(
      fc.property(
        text,
        fc.integer({ min: 1, max: 5 }),
        fc.constantFrom('', ' ', '\n  '),
        cuts,
        (input, every, space, at) => {
          const json = `${space}{${space}"input"${space}:${space}"${escaped(input, every)}"${space}}`;
          const ends = [...at.map((cut) => cut % (json.length + 1)), json.length].sort((a, b) => a - b);
          let from = 0;
          const pieces = ends.map((end) => {
            const piece = json.slice(from, end);
            from = end;
            return piece;
          });
          const { deltas, isReading } = decode(pieces);
          expect(isReading).toBe(true);
          expect(deltas.join('')).toBe(input);
          // No delta ends or begins within a character.
          for (const delta of deltas) expect(Buffer.from(delta).toString()).toBe(delta);
        },
      ),
      { numRuns: runs(500) },
    );
  });

  it.each([
    ['an escape that is cut off', ['{"input":"a\\u00'], 'a\\u00'],
    ['a backslash that escapes nothing', ['{"input":"\\d"}'], '\\d'],
    ['four letters that are no number', ['{"input":"\\uzzzz"}'], '\\uzzzz'],
    ['half a surrogate pair', ['{"input":"a\\ud83d"}'], 'a\ud83d'],
    ['a raw line feed', ['{"input":"a\n', 'b"}'], 'a\nb'],
    ['what follows the string', ['{"input":"a","b":"c"}'], 'a'],
    ['a quote that is escaped', ['{"input":"\\', '"a"}'], '"a'],
    ['nothing', ['{"input":""}'], ''],
  ])('is forgiven %s', (_, pieces, input) => {
    expect(decode(pieces).deltas.join('')).toBe(input);
  });

  it('is not read from what follows another beginning', () => {
    expect(decode(['x', '{"input":"a"}'])).toEqual({ deltas: ['', '', ''], isReading: false });
    expect(decode([' '.repeat(257), '{"input":"a"}'])).toEqual({ deltas: ['', '', ''], isReading: false });
    expect(decode([' '.repeat(200), '{"input":"a"}'])).toEqual({ deltas: ['', 'a', ''], isReading: true });
  });

  it.each([
    ['another key', '{"patch":"a"}'],
    ['no JSON', '*** Begin Patch'],
    ['a value that is not a string', '{"input":5}'],
    ['a longer key', '{"inputs":"a"}'],
    ['white space without end', ' '.repeat(1000)],
  ])('is not read from %s', (_, text) => {
    for (const pieces of [[text], [...text]]) {
      const { deltas, isReading } = decode(pieces);
      expect(deltas.join('')).toBe('');
      expect(isReading).toBe(false);
    }
  });
});
