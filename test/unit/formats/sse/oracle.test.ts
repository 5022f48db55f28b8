import { createParser } from 'eventsource-parser';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { SseDecoder, type SseMessage } from '../../../../src/formats/sse/sse-decoder.ts';
import { codePoint } from '../../../support/code-point.ts';
import { runs } from '../../../support/property-runs.ts';
import { inPiecesOf } from '../../../support/split.ts';

/** The messages of a body as `eventsource-parser` reads them. */
function readByOracle(bytes: Uint8Array): SseMessage[] {
  const messages: SseMessage[] = [];
  const parser = createParser({
    onEvent: ({ event, data }) => messages.push({ type: 'event', event: event ?? null, data }),
    onComment: () => messages.push({ type: 'comment' }),
  });
  parser.feed(new TextDecoder().decode(bytes));
  return messages;
}

function readInPieces(bytes: Uint8Array, size: number): SseMessage[] {
  const decoder = new SseDecoder({ maxEventBytes: 1 << 20 });
  return [...[...inPiecesOf(size, bytes)].flatMap((piece) => decoder.push(piece)), ...decoder.finish()];
}

// Not in it: lines and data that begin with `{`, and an event without its blank line at the end, which the decoder reads
// beyond the standard.
const field = fc.constantFrom(
  'data: ',
  'data:',
  'data',
  'event: ',
  'event:',
  'event',
  'id: 1',
  'retry: 5',
  'datax: ',
  ': ',
  ':',
  'x',
);
const value = fc.oneof(
  fc.constantFrom('', ' ', '["a",1]', '[DONE]', 'Grüß 🎉'),
  fc.string({ unit: codePoint, maxLength: 12 }),
);
const text = fc.tuple(field, value).map(([name, content]) => Buffer.from(name + content.replace(/[\r\n]/g, '')));
const line = fc.oneof(
  { weight: 3, arbitrary: text },
  { weight: 2, arbitrary: fc.constant(Buffer.alloc(0)) },
  // Bytes that are no UTF-8; none of them ends a line.
  {
    weight: 1,
    arbitrary: fc.uint8Array({ min: 0x80, maxLength: 4 }).map((bytes) => Buffer.concat([Buffer.from('data: '), bytes])),
  },
);
const body = fc
  .tuple(
    fc.constantFrom('', '\ufeff'),
    fc.array(fc.tuple(line, fc.constantFrom('\n', '\r\n', '\r')), { maxLength: 20 }),
  )
  .map(([mark, lines]) =>
    Buffer.concat([
      Buffer.from(mark),
      ...lines.flatMap(([bytes, end]) => [bytes, Buffer.from(end)]),
      Buffer.from('\n\n'),
    ]),
  );

test('whatever is in the stream, it is what eventsource-parser reads', () => {
  fc.assert(
    fc.property(body, fc.integer({ min: 1, max: 40 }), (bytes, size) => {
      expect(readInPieces(bytes, size)).toEqual(readByOracle(bytes));
    }),
    { numRuns: runs(2000) },
  );
});

test('the streams of the test above hold events, names, comments and several lines of data', () => {
  const seen = new Set<string>();
  for (const bytes of fc.sample(body, { numRuns: 500, seed: 1 }))
    for (const message of readByOracle(bytes))
      seen.add(message.type === 'comment' ? 'comment' : `${message.event !== null} ${message.data.includes('\n')}`);
  expect(seen).toEqual(new Set(['comment', 'false false', 'true false', 'false true', 'true true']));
});
