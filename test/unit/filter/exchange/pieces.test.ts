import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { cutBytes, cutEvents, maxPieceBytes } from '../../../../src/filter/exchange/replies.ts';

const event = (size: number): string => `event: e\ndata: ${'x'.repeat(Math.max(0, size - 17))}\n\n`;

describe('bytes in pieces', () => {
  test('are cut at the most a message should hold, and none are lost', () => {
    const bytes = Buffer.alloc(150_000, 'a');
    const pieces = cutBytes(bytes);
    expect(pieces.map((piece) => piece.length)).toEqual([62_000, 62_000, 26_000]);
    expect(cutBytes(Buffer.alloc(0))).toEqual([]);
  });
});

describe('events in pieces', () => {
  test('an event larger than a piece stays whole', () => {
    const texts = [event(100), event(200_000), event(50)];
    expect(cutEvents(Buffer.from(texts.join(''))).map(String)).toEqual(texts);
  });

  test('an event that was cut off stays whole, however large', () => {
    const texts = [event(100), event(200_000).slice(0, -2)];
    expect(cutEvents(Buffer.from(texts.join(''))).map(String)).toEqual(texts);
  });

  test('as many events as fit share a piece, up to the last byte', () => {
    const half = event(maxPieceBytes / 2);
    expect(cutEvents(Buffer.from(half.repeat(4))).map((piece) => piece.length)).toEqual([62_000, 62_000]);
  });

  test.each([1, 2, 3, 4])('nor shares a piece that it makes %d bytes too large', (excess) => {
    const texts = [event(1000), event(maxPieceBytes - 1000 + excess), event(50)];
    const [first, ...others] = cutEvents(Buffer.from(texts.join(''))).map(String);
    expect(first).toBe(texts[0]);
    expect(others.join('')).toBe(texts.slice(1).join(''));
  });

  test('no event is cut, no byte is lost, no piece is larger than it must be', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 17, max: 150_000 }), { maxLength: 8 }), (sizes) => {
        const bytes = Buffer.from(sizes.map(event).join(''));
        const pieces = cutEvents(bytes);
        expect(Buffer.concat(pieces).equals(bytes)).toBe(true);
        for (const piece of pieces) {
          expect(piece.subarray(-2).toString()).toBe('\n\n');
          const events = piece.toString().split('\n\n').length - 1;
          expect(piece.length <= maxPieceBytes || events === 1).toBe(true);
        }
      }),
    );
  });
});
