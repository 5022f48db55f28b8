import { EventEmitter } from 'node:events';
import type { ServerHttp2Stream } from 'node:http2';
import { expect, it } from 'vitest';
import { acceptCall } from '../../../../src/service/server/grpc-call.ts';

it('a call that is over tells its listener nothing more', () => {
  const events = new EventEmitter();
  const stream = Object.assign(events, { resume() {}, pause() {}, closed: true, destroyed: true, destroy() {} });
  const told: string[] = [];
  const listener = {
    message: () => void told.push('message'),
    blocked: () => void told.push('blocked'),
    drained: () => void told.push('drained'),
    halfClosed: () => void told.push('half-closed'),
    closed: () => void told.push('closed'),
  };
  const headers = { 'content-type': 'application/grpc' };
  acceptCall(
    stream as unknown as ServerHttp2Stream,
    headers,
    1000,
    () => listener,
    (thrown) => told.push(String(thrown)),
  );
  for (const event of ['close', 'drain', 'end', 'close']) events.emit(event);
  events.emit('data', Buffer.alloc(5));
  expect(told).toEqual(['closed']);
});
