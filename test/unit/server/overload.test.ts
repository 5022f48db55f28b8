import { describe, expect, it } from 'vitest';
import { readConfig } from '../../../src/config.ts';
import { ApiError } from '../../../src/schema/api-error.ts';
import { type Admission, createOverloadGuard, fitToMemory } from '../../../src/server/overload.ts';

const MiB = 1024 * 1024;

function guardOf(limits: { maxExchanges?: number; maxBufferedBytes?: number; live?: number }) {
  const refusals: string[] = [];
  const heap = { limit: 1000 * MiB, live: limits.live ?? 0 };
  const guard = createOverloadGuard({ maxExchanges: 0, maxBufferedBytes: 0, ...limits }, heap, (reason) => {
    refusals.push(reason);
  });
  return { guard, refusals, heap };
}

function placeOf(answer: Admission | ApiError): Admission {
  if (answer instanceof ApiError) throw answer;
  return answer;
}

describe('the limit on exchanges', () => {
  it('refuses one more than it allows with a 503 that says when to try again', () => {
    const { guard, refusals } = guardOf({ maxExchanges: 2 });
    placeOf(guard.admit());
    placeOf(guard.admit());
    expect(guard.admit()).toMatchObject({
      status: 503,
      type: 'server_error',
      code: 'server_overloaded',
      headers: { 'retry-after': '2' },
    });
    expect(refusals).toEqual(['exchanges']);
    expect(guard.exchanges).toBe(2);
  });

  it('has room again when one leaves, once however often it says so', () => {
    const { guard } = guardOf({ maxExchanges: 1 });
    const place = placeOf(guard.admit());
    place.release();
    place.release();
    expect(guard.exchanges).toBe(0);
    placeOf(guard.admit());
    expect(guard.admit()).toBeInstanceOf(ApiError);
  });

  it('is none when it is 0', () => {
    const { guard } = guardOf({ maxExchanges: 0 });
    for (let n = 0; n < 1000; n += 1) placeOf(guard.admit());
    expect(guard.exchanges).toBe(1000);
  });
});

describe('the limit on bytes', () => {
  it('refuses the exchange that crosses it, and counts what is given back', () => {
    const { guard, refusals } = guardOf({ maxBufferedBytes: 100 });
    const first = placeOf(guard.admit());
    const second = placeOf(guard.admit());
    expect(first.reserve(60)).toBeNull();
    expect(second.reserve(40)).toBeNull();
    expect(second.reserve(41)).toMatchObject({ status: 503, code: 'server_overloaded' });
    expect(refusals).toEqual(['buffered_bytes']);
    expect(guard.bufferedBytes).toBe(60);
    expect(first.reserve(0)).toBeNull();
    expect(guard.bufferedBytes).toBe(0);
  });

  it('never refuses what shrinks, even with no memory left', () => {
    const { guard, heap } = guardOf({ maxBufferedBytes: 100 });
    const place = placeOf(guard.admit());
    place.reserve(90);
    heap.live = heap.limit;
    expect(place.reserve(80)).toBeNull();
  });

  it('counts nothing for an exchange that has left', () => {
    const { guard } = guardOf({ maxBufferedBytes: 100 });
    const place = placeOf(guard.admit());
    place.release();
    expect(place.reserve(50)).toBeNull();
    expect(guard.bufferedBytes).toBe(0);
  });
});

describe('memory', () => {
  it('begins nothing new while most of the heap is in use', () => {
    const { guard, refusals, heap } = guardOf({ live: 601 * MiB });
    expect(guard.admit()).toMatchObject({ status: 503 });
    expect(refusals).toEqual(['memory']);
    heap.live = 599 * MiB;
    placeOf(guard.admit());
  });

  it('takes a body only if parsing it cannot fill the heap', () => {
    const { guard, heap } = guardOf({ live: 300 * MiB });
    const place = placeOf(guard.admit());
    expect(place.reserve(29 * MiB)).toBeNull();
    expect(place.reserve(30 * MiB)).toMatchObject({ status: 503 });
    heap.live = 0;
    expect(place.reserve(31 * MiB)).toBeNull();
  });

  it('lowers the sizes that this much memory could not honour, and says so', () => {
    const { config, lowered } = fitToMemory(readConfig({}), { heap: 272 * MiB, total: 1024 * MiB });
    expect(config).toMatchObject({
      MAX_REQUEST_BYTES: 8 * MiB,
      MAX_RESPONSE_BYTES: 8 * MiB,
      MAX_SSE_EVENT_BYTES: 8 * MiB,
      MAX_BUFFERED_BYTES: 256 * MiB,
    });
    expect(lowered.map((line) => line.split(' ', 1)[0])).toEqual([
      'MAX_REQUEST_BYTES',
      'MAX_RESPONSE_BYTES',
      'MAX_BUFFERED_BYTES',
    ]);
  });

  it('leaves the defaults alone with 2 GiB of heap and 8 GiB of memory', () => {
    expect(fitToMemory(readConfig({}), { heap: 2048 * MiB, total: 8192 * MiB }).lowered).toEqual([]);
  });

  it('bounds the bytes that wait even where no limit was asked for', () => {
    const { config } = fitToMemory(readConfig({ MAX_BUFFERED_BYTES: '0' }), { heap: 2048 * MiB, total: 4096 * MiB });
    expect(config.MAX_BUFFERED_BYTES).toBe(1024 * MiB);
  });
});
