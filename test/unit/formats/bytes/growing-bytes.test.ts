import { expect, test } from 'vitest';
import { GrowingBytes } from '../../../../src/formats/bytes/growing-bytes.ts';

const bytesOf = (text: string) => new TextEncoder().encode(text);

test('pieces become one, whatever kind of bytes they are', () => {
  const bytes = new GrowingBytes();
  expect(bytes.whole()).toEqual(Buffer.alloc(0));
  bytes.append(bytesOf('one'));
  expect([bytes.length, bytes.whole().toString('latin1')]).toEqual([3, 'one']);
  bytes.append(Buffer.from(' two'));
  bytes.append(bytesOf(' three, and more than there is room for'));
  expect(bytes.whole().toString('latin1')).toBe('one two three, and more than there is room for');
  expect(bytes.length).toBe(46);
  bytes.clear();
  expect([bytes.length, bytes.whole().length]).toEqual([0, 0]);
});

test('the first piece, which may be a view of bytes that others have too, is never written to', () => {
  const theirs = Buffer.from('theirs, and ours');
  const bytes = new GrowingBytes();
  bytes.append(theirs.subarray(0, 12));
  bytes.append(Buffer.from('mine'));
  expect(bytes.whole().toString('latin1')).toBe('theirs, and mine');
  expect(theirs.toString('latin1')).toBe('theirs, and ours');
});

test('a small view does not keep the bytes around it', () => {
  const read = Buffer.alloc(64 * 1024, 'x');
  const bytes = new GrowingBytes();
  bytes.append(read.subarray(0, 100));
  read.fill('y');
  expect(bytes.whole().toString('latin1')).toBe('x'.repeat(100));
});

test('of a length that is known room is made once, and not where more comes or too much is announced', () => {
  const roomOf = (...appended: [length: number, expected: number][]) => {
    const bytes = new GrowingBytes();
    bytes.append(Buffer.alloc(5));
    for (const [length, expected] of appended) bytes.append(Buffer.alloc(length), expected);
    return bytes.whole().buffer.byteLength;
  };
  expect(roomOf([95, 1000], [900, 1000])).toBe(1000);
  expect(roomOf([95, 1000], [901, 1000])).toBe(2002);
  expect(roomOf([95, 64 * 1024 * 1024])).toBe(200);
});
