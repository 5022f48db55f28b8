import { deflateSync, gzipSync } from 'node:zlib';
import { StreamDecoder } from '@grpc/grpc-js/build/src/stream-decoder.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { frameHeadBytes, MessageFrameReader, putFrameHead } from '../../../../src/service/server/message-frames.ts';
import { runs } from '../../../support/property-runs.ts';
import { inPiecesOf } from '../../../support/split.ts';

const maxBytes = 4 * 1024 * 1024;

function frame(message: Uint8Array, compressed = 0): Buffer {
  const framed = Buffer.concat([Buffer.alloc(frameHeadBytes), message]);
  putFrameHead(framed);
  framed[0] = compressed;
  return framed;
}

function messagesOf(pieces: readonly Uint8Array[], limit = maxBytes): Buffer[] {
  const reader = new MessageFrameReader(limit);
  const messages: Buffer[] = [];
  for (const piece of pieces) reader.push(Buffer.from(piece), { message: (bytes) => messages.push(bytes) });
  return messages;
}

it('the head of a frame says that it is not compressed, and its length in four bytes', () => {
  const headOf = (length: number) => {
    const framed = Buffer.allocUnsafe(frameHeadBytes + length);
    framed.fill(0xff, 0, frameHeadBytes);
    putFrameHead(framed);
    return framed.toString('hex', 0, frameHeadBytes);
  };
  expect([0, 0x102, 0x3010203].map(headOf)).toEqual(['0000000000', '0000000102', '0003010203']);
});

/** These bytes in pieces of those lengths, over and over. */
function cut(bytes: Buffer, lengths: readonly number[]): Buffer[] {
  const pieces: Buffer[] = [];
  for (let at = 0, turn = 0; at < bytes.length; turn++) {
    const end = at + (lengths[turn % lengths.length] ?? bytes.length);
    pieces.push(bytes.subarray(at, end));
    at = end;
  }
  return pieces;
}

describe('messages', () => {
  const message = fc.oneof(
    fc.uint8Array({ maxLength: 40 }),
    fc.constantFrom(0, 255, 256, 65_535, 65_536).map((size) => new Uint8Array(size).fill(7)),
  );

  it('are the same ones that grpc-js reads, wherever their bytes are cut', () => {
    fc.assert(
      fc.property(
        fc.array(message, { maxLength: 5 }),
        fc.array(fc.integer({ min: 1, max: 70_000 }), { minLength: 1, maxLength: 6 }),
        (messages, lengths) => {
          const pieces = cut(Buffer.concat(messages.map((bytes) => frame(bytes))), lengths);
          const decoder = new StreamDecoder(maxBytes);
          const general = pieces.flatMap((piece) => decoder.write(piece)).map((framed) => framed.subarray(5));
          const read = messagesOf(pieces);
          expect(read.length).toBe(general.length);
          expect(read.every((bytes, index) => bytes.equals(general[index] ?? Buffer.of(1)))).toBe(true);
        },
      ),
      { numRuns: runs(500) },
    );
  });

  it('come at once, when the last of their bytes has come', () => {
    const bytes = Buffer.concat([frame(Buffer.from('one')), frame(Buffer.from('two'))]);
    for (let at = 1; at < bytes.length; at++) {
      const [before, after] = [bytes.subarray(0, at), bytes.subarray(at)];
      const reader = new MessageFrameReader(maxBytes);
      const texts: string[] = [];
      const to = { message: (message: Buffer) => texts.push(message.toString()) };
      reader.push(before, to);
      expect(texts).toEqual(before.length < 8 ? [] : before.length < 16 ? ['one'] : ['one', 'two']);
      reader.push(after, to);
      expect(texts).toEqual(['one', 'two']);
    }
  });

  it('may be compressed, with gzip or deflate', () => {
    const text = Buffer.from('a message that was compressed');
    expect(messagesOf([frame(gzipSync(text), 1), frame(text), frame(deflateSync(text), 1)])).toEqual([
      text,
      text,
      text,
    ]);
  });

  it('are refused with the status of gRPC when they are too large, compressed or not, or damaged', () => {
    const limit = { maxBytes: 100 };
    const read = (bytes: Buffer) => () => messagesOf([bytes], limit.maxBytes);
    expect(messagesOf([frame(Buffer.alloc(100))], limit.maxBytes)).toHaveLength(1);
    expect(read(frame(Buffer.alloc(101)))).toThrow(expect.objectContaining({ code: 8 }));
    expect(read(frame(gzipSync(Buffer.alloc(101)), 1))).toThrow(expect.objectContaining({ code: 8 }));
    expect(read(frame(Buffer.from('not gzip'), 1))).toThrow(expect.objectContaining({ code: 13 }));
  });

  it('that are not complete do not keep alive what was read with them', () => {
    // As Node reads from a socket: the frames of many calls in one piece of memory.
    const read = Buffer.from(new ArrayBuffer(64 * 1024));
    const framed = frame(Buffer.from('kept'));
    framed.copy(read, 1000);
    const texts: string[] = [];
    const to = { message: (bytes: Buffer) => texts.push(bytes.toString()) };
    const reader = new MessageFrameReader(maxBytes);
    reader.push(read.subarray(1000, 1003), to);
    reader.push(read.subarray(1003, 1007), to);
    read.fill(0);
    reader.push(framed.subarray(7), to);
    expect(texts).toEqual(['kept']);
  });

  it('of many pieces cost time by their size', () => {
    const bytes = frame(Buffer.alloc(3 * 1024 * 1024, 'x'));
    // A copy for each piece would be 150 GB.
    expect(messagesOf([...inPiecesOf(30, bytes)])[0]?.length).toBe(3 * 1024 * 1024);
  });
});
