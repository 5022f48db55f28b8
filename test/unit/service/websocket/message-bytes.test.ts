import { expect, it } from 'vitest';
import { ApiError } from '../../../../src/filter/wire/schema/api-error.ts';
import { MessageBytes } from '../../../../src/service/websocket/message-bytes.ts';

const overload = new ApiError('full', { status: 503, code: 'server_overloaded' });
/** What an open connection takes with nothing in it. */
const idle = 20 * 1024;

/** The bytes of a connection, and what the ledger is told: all of them beyond those of an idle one, and those of bodies. */
function bytesOf() {
  const told: (readonly [bytes: number, body: number])[] = [];
  const ledger = { most: Number.POSITIVE_INFINITY };
  const bytes = new MessageBytes({
    hold(held, body = 0) {
      told.push([held - idle, body]);
      return body > ledger.most ? overload : null;
    },
  });
  return { bytes, ledger, take: () => told.splice(0) };
}

it('an open connection holds 20 KiB', () => {
  expect(bytesOf().take()).toEqual([[0, 0]]);
});

it('bytes count from their arrival until their message has come, and of the rest with which the next begins', () => {
  const { bytes, take } = bytesOf();
  take();
  bytes.read(1000);
  expect(take(), 'a message may end in them').toEqual([]);
  expect(bytes.tell()).toBeNull();
  bytes.read(500);
  bytes.tell();
  bytes.onMessage(1200);
  expect(take()).toEqual([
    [1000, 1000],
    [1500, 1500],
    [300, 300],
  ]);
  bytes.read(100);
  bytes.onMessage(500);
  expect(take(), 'compressed, it was larger than what was read').toEqual([[0, 0]]);
  bytes.read(2000);
  bytes.read(50);
  bytes.onMessage(1000);
  expect(take(), 'what is left was read last').toEqual([[50, 50]]);
});

it('a control frame is no part of a message', () => {
  const { bytes, take } = bytesOf();
  take();
  bytes.read(131);
  bytes.onControlFrame(100);
  bytes.onControlFrame(20);
  expect(take()).toEqual([
    [25, 25],
    [0, 0],
  ]);
});

it('a turn holds its message until the proxy has it, and what it keeps until it ends', () => {
  const { bytes, take } = bytesOf();
  take();
  expect([bytes.hold(700, 700), bytes.hold(40, 0), bytes.hold(0, -700), bytes.hold(-740, 0)]).toEqual(
    Array(4).fill(null),
  );
  expect(take()).toEqual([
    [700, 700],
    [740, 700],
    [740, 0],
    [0, 0],
  ]);
});

it('a message for which there is no room is not counted, and one on its way is until it is gone', () => {
  const { bytes, ledger, take } = bytesOf();
  take();
  ledger.most = 100;
  bytes.hold(30, 30);
  take();
  expect(bytes.hold(80, 80)).toBe(overload);
  expect(take()).toEqual([
    [110, 110],
    [110, 0],
    [30, 30],
  ]);
  ledger.most = 30;
  expect(bytes.hold(1, 1), 'a single byte').toBe(overload);
  expect(take().at(-1)).toEqual([30, 30]);
  ledger.most = 100;
  bytes.read(90);
  expect(bytes.tell()).toBe(overload);
  expect(take()).toEqual([
    [120, 120],
    [120, 0],
  ]);
  expect(bytes.hold(50, 0), 'nothing of a message').toBeNull();
  expect(take()).toEqual([
    [170, 120],
    [170, 0],
  ]);
});
