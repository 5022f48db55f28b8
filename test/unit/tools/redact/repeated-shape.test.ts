import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Redactor } from '../../../../src/tools/redact/redactor.ts';
import { RepeatedShape } from '../../../../src/tools/redact/repeated-shape.ts';

const eventOf = (delta: string, number: number, name = 'item_id') =>
  `data: {"type":"response.output_text.delta","${name}":"msg_1","delta":${JSON.stringify(delta)},"sequence_number":${number}}\n\n`;

function learnedFrom(...texts: readonly string[]): RepeatedShape {
  const shape = new RepeatedShape();
  for (const text of texts) if (!shape.matches(text)) shape.learn(text);
  return shape;
}

test('a text and a number may differ from what was learned, and nothing else', () => {
  const shape = learnedFrom(eventOf('a', 8), eventOf(' long "text"\n', 9));
  expect(shape.matches(eventOf('', 123))).toBe(true);
  expect(shape.matches(eventOf('“', 10))).toBe(true);
  expect(shape.matches(eventOf('a', 10, 'api_key'))).toBe(false);
  expect(shape.matches(eventOf('a:', 10))).toBe(false);
  expect(shape.matches(eventOf('a', 10).replace('"a"', 'null'))).toBe(false);
  expect(shape.matches(eventOf('a', 10).replace('10}', '10,"api_key":"k"}'))).toBe(false);
  expect(shape.matches(eventOf('a', 10).replace('"msg_1"', '"msg_2"'))).toBe(false);
  expect(shape.matches(`${eventOf('a', 10)}${eventOf('a', 11)}`)).toBe(false);
  expect(shape.matches(eventOf('a', 10).slice(0, -4))).toBe(false);
});

test('another shape is learned when it repeats, and not for ever', () => {
  const shape = learnedFrom(eventOf('a', 8), eventOf('b', 9), eventOf('a', 10, 'id'), eventOf('b', 11, 'id'));
  expect(shape.matches(eventOf('c', 12, 'id'))).toBe(true);
  for (let number = 0; number < 100; number += 1) shape.learn(eventOf('a', number, `id${number}`));
  shape.learn(eventOf('a', 1));
  shape.learn(eventOf('b', 2));
  expect(shape.matches(eventOf('c', 3))).toBe(false);
});

/** A credential of the request that the answer may repeat, whole or cut. */
const known = 'sk-0123456789abcdef0123456789abcdef';
const delta = fc.oneof(
  fc.string(),
  fc.string({ unit: 'binary' }),
  fc.constantFrom(
    known,
    known.slice(0, 9),
    `x${known}y`,
    '{"api_key":"k-1"}',
    '"password": "p-1',
    'https://u:p@h/',
    '://u:p@h',
    '\\',
  ),
);
const piece = fc.oneof(
  { weight: 8, arbitrary: fc.tuple(delta, fc.nat()).map(([text, number]) => eventOf(text, number)) },
  { weight: 1, arbitrary: fc.tuple(delta, fc.nat()).map(([text, number]) => eventOf(text, number, 'access_token')) },
  { weight: 1, arbitrary: fc.constant(': keep-alive\n\n') },
);

test('a stream is shown as it is when each of its events is searched by itself', () => {
  fc.assert(
    fc.property(fc.array(piece, { minLength: 1, maxLength: 40 }), (pieces) => {
      const redactor = new Redactor();
      redactor.headers([['authorization', `Bearer ${known}`]]);
      const stream = redactor.body('answer');
      for (const text of pieces) {
        const bytes = Buffer.from(text);
        const alone = Buffer.from(redactor.wholeBody(bytes, 'answer')).toString();
        const shown = Buffer.concat([stream.push(bytes), stream.end()]).toString();
        expect(shown).toBe(alone);
        expect(shown).not.toContain(known);
      }
    }),
  );
});
