import { describe, expect, it } from 'vitest';
import { EnvelopeContents } from '../../../../../../src/filter/translate/chat-to-response/write/envelope-contents.ts';
import { HeldBytes } from '../../../../../../src/filter/translate/shared/held-bytes.ts';
import { createTestContext } from '../../../../../support/context.ts';

describe('what waits for the envelope of a reasoning item', () => {
  it.each<[string, (contents: EnvelopeContents) => void]>([
    ['details', (contents) => contents.add({ details: [{ type: 'reasoning.text', text: 'a' }], blocks: [] })],
    ['blocks', (contents) => contents.add({ details: [], blocks: [{ type: 'thinking', thinking: 'a' }] })],
    ['extras', (contents) => contents.addExtra({ fields: { extra_content: { a: 1 } }, callId: () => 'c' })],
  ])('is counted until it is written, and once: %s', (_what, add) => {
    const held = new HeldBytes();
    const contents = new EnvelopeContents(held, createTestContext());
    const empty = held.bytes;
    for (let round = 0; round < 2; round += 1) {
      add(contents);
      const one = held.bytes - empty;
      expect(one).toBeGreaterThan(0);
      contents.take('');
      expect(held.bytes).toBe(empty);
      contents.take('');
      expect(held.bytes).toBe(empty);
    }
  });
});
