import { expect, it } from 'vitest';
import { EventLog } from '../../../../../../src/filter/translate/chat-to-response/write/event-log.ts';
import { HeldBytes } from '../../../../../../src/filter/translate/shared/held-bytes.ts';
import type { UnnumberedEvent } from '../../../../../../src/filter/wire/schema/stream-events.ts';

const newId = () => `resp_${'0123456789abcdef'.repeat(2)}`;
const delta = (text: string): UnnumberedEvent => ({
  type: 'response.refusal.delta',
  item_id: 'msg_1',
  output_index: 0,
  content_index: 0,
  delta: text,
});

it('numbers events from 0, over all takes', () => {
  const log = new EventLog({ obfuscate: false, newId }, new HeldBytes());
  log.emit(delta('a'));
  log.emit(delta('b'));
  expect(log.take().map((event) => event.sequence_number)).toEqual([0, 1]);
  expect(log.take()).toEqual([]);
  log.emit(delta('c'));
  expect(log.take().map((event) => event.sequence_number)).toEqual([2]);
  expect(log.count).toBe(3);
});

it('pads a delta so that its length says little, and nothing unless asked', () => {
  const padded = new EventLog({ obfuscate: true, newId }, new HeldBytes());
  const plain = new EventLog({ obfuscate: false, newId }, new HeldBytes());
  for (let length = 1; length <= 40; length++) {
    for (const log of [padded, plain]) log.emit(delta('x'.repeat(length)));
  }
  const sizes = padded.take().map((event) => {
    if (!('delta' in event)) throw new Error('no delta');
    return event.delta.length + (event.obfuscation?.length ?? 0);
  });
  expect(new Set(sizes)).toEqual(new Set([16, 32, 48]));
  for (const event of plain.take()) expect(event).not.toHaveProperty('obfuscation');
});

it('lets events take a multiple of what came, in all, and not of each piece anew', () => {
  const log = new EventLog({ obfuscate: false, newId }, new HeldBytes());
  log.came(10);
  const room = log.room;
  log.emit(delta('x'.repeat(1000)));
  const spent = room - log.room;
  expect(spent).toBeGreaterThan(1000);
  log.came(0);
  expect(log.room).toBe(room - spent);
});

it('counts the envelope of a reasoning item, which the last event repeats', () => {
  const held = new HeldBytes();
  const log = new EventLog({ obfuscate: false, newId }, held);
  const item = { id: 'rs_1', type: 'reasoning', status: 'completed', summary: [] } as const;
  log.emit({ type: 'response.output_item.done', output_index: 0, item });
  expect(held.bytes).toBe(0);
  log.emit({ type: 'response.output_item.done', output_index: 0, item: { ...item, encrypted_content: 'orr1.abc' } });
  expect(held.bytes).toBe(8);
});
