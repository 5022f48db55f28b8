import fc from 'fast-check';
import { expect, it } from 'vitest';
import { readStreamEvent } from '../../../../src/service/websocket/stream-event.ts';
import { mutated } from '../../../support/mutations.ts';
import { runs } from '../../../support/property-runs.ts';
import { startWebSocketSession } from '../../../support/websocket-session.ts';

const stream = [
  '{"type":"response.created","response":{"id":"resp_1","output":[]},"sequence_number":0}',
  '{"type":"response.output_item.added","output_index":0,"item":{"id":"msg_1"},"sequence_number":1}',
  '{"type":"response.output_text.delta","output_index":0,"delta":"Hi","sequence_number":2}',
  '{"type":"response.output_item.done","output_index":0,"item":{"id":"msg_1"},"sequence_number":3}',
  '{"type":"error","code":"a","sequence_number":4}',
  '{"type":"response.failed","response":{"id":"resp_1","output":[]},"sequence_number":5}',
]
  .map((data) => `data: ${data}\n\n`)
  .join('');

it('a turn of any answer ends once, in messages that are JSON with a type, and holds nothing', () => {
  const interrupted = fc.boolean();
  const lane = fc.constantFrom('', ',"stream_id":"a"');
  fc.assert(
    fc.property(mutated([stream]), fc.nat(stream.length), interrupted, lane, (bytes, cut, isInterrupted, streamId) => {
      const { connection, answer, take, held } = startWebSocketSession();
      connection.message(Buffer.from(`{"type":"response.create","model":"m","input":"Hi"${streamId}}`));
      const turn = answer(1);
      turn.headers({ status: 200, contentType: 'text/event-stream', retryAfter: null });
      turn.body(bytes.subarray(0, cut));
      if (isInterrupted)
        connection.message(
          Buffer.from('{"type":"response.interrupt","response_id":"resp_1","mode":"discard_partial_items"}'),
        );
      turn.body(bytes.subarray(cut));
      turn.end();
      const lines = take();
      const sent = lines.filter((line) => line.startsWith('server: ')).map((line) => JSON.parse(line.slice(8)));
      for (const { type } of sent) expect(type).toEqual(expect.any(String));
      expect(lines.filter((line) => line.startsWith('ended: '))).toHaveLength(1);
      connection.abort(null);
      expect(held()).toBe(0);
    }),
    { numRuns: runs(10_000) },
  );
});

it.each<[string, object | string | null]>([
  ['{"type":"response.created","response":{"id":"r"}}', 'response'],
  ['{"type":"response.queued","response":{"id":"r"}}', 'response'],
  ['{"type":"response.in_progress","response":{"id":""}}', 'response'],
  ['{"type":"response.completed","response":{"id":"r"}}', 'response'],
  ['{"type":"response.completed","response":{"id":1}}', null],
  ['{"type":"response.completed","response":[]}', null],
  ['{"type":"response.completed"}', null],
  ['{"type":"response.completed.x"}', 'other'],
  ['{"type":"x.response.completed"}', 'other'],
  ['{"type":"response.output_item.added","output_index":0,"item":{}}', 'item'],
  ['{"type":"response.output_item.done","output_index":1,"item":{"id":"i"}}', 'item'],
  ['{"type":"response.output_item.done","output_index":"1","item":{}}', null],
  ['{"type":"response.output_item.done","output_index":1,"item":null}', null],
  ['{"type":"response.output_item.done","output_index":1}', null],
  ['{"type":"error"}', 'error'],
  ['{"type":"errors"}', 'other'],
  ['{"type":1}', null],
  ['{}', null],
  ['["type"]', null],
  ['null', null],
  ['"type"', null],
  ['{', null],
])('%s is read as %j', (data, kind) => {
  const event = readStreamEvent(data, 1000);
  expect(event?.kind ?? null).toBe(kind);
  if (event !== null) expect(event.fields).toEqual(JSON.parse(data));
});

it('data with more values than may be, or nested deeper than can be written again, is none', () => {
  const dataOf = (levels: number) => `{"type":"x","x":${'['.repeat(levels)}${']'.repeat(levels)}}`;
  const kindOf = (levels: number, maxValues: number) => readStreamEvent(dataOf(levels), maxValues)?.kind ?? null;
  expect([kindOf(7, 10), kindOf(8, 10)]).toEqual(['other', null]);
  expect([kindOf(2999, 5000), kindOf(3000, 5000)]).toEqual(['other', null]);
  expect(() => JSON.stringify(readStreamEvent(dataOf(2999), 5000))).not.toThrow();
});
