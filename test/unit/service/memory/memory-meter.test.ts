import { describe, expect, it } from 'vitest';
import type { CollectionKind } from '../../../../src/service/memory/heap.ts';
import { Account, Ledger, MemoryMeter } from '../../../../src/service/memory/memory-meter.ts';

const MiB = 1024 * 1024;

/** A meter of a heap and a process of 1000 bytes each, or as many as are given, and one account in its ledger. */
function meterOf(given: { live?: number; resident?: number; limit?: number } = {}) {
  const { live = 100, resident = 200, limit = 1000 } = given;
  const ledger = new Ledger();
  const account = new Account(ledger);
  const process = { limit, now: resident, bytes: () => process.now };
  const heap = {
    limit,
    live,
    collects: true,
    hasPages: 0,
    pages: () => heap.hasPages,
    asked: [] as CollectionKind[],
    collect(kind: CollectionKind) {
      heap.asked.push(kind);
      return heap.collects;
    },
  };
  return { meter: new MemoryMeter(ledger, heap, process), ledger, account, process, heap };
}

describe('the shares in use', () => {
  it('are what was measured, with what has come since', () => {
    const { meter, account, heap, process } = meterOf();
    expect(meter.shares()).toEqual({ heap: 0.1, memory: 0.2 });
    expect(meter.shares(50)).toEqual({ heap: 0.15, memory: 0.2 });
    account.set(90, 60);
    expect(meter.shares()).toEqual({ heap: 0.13, memory: 0.29 });
    heap.live = 120; // a measurement: what is held on the heap is in it
    expect(meter.shares()).toEqual({ heap: 0.12, memory: 0.29 });
    account.set(100, 60);
    expect(meter.shares()).toEqual({ heap: 0.13, memory: 0.3 });
    account.set(60, 60);
    expect(meter.shares(), 'what was freed is garbage until it is measured').toEqual({ heap: 0.12, memory: 0.26 });
    process.now = 500;
    expect(meter.shares().memory, 'not looked at yet').toBe(0.26);
    meter.look();
    expect(meter.shares().memory).toBe(0.5);
    account.set(0, 0);
    expect(meter.shares().memory, 'freed pages stay').toBe(0.5);
  });

  it('have what was held before the first of them', () => {
    const { meter, account } = meterOf();
    account.set(30, 0);
    expect(meter.shares()).toEqual({ heap: 0.13, memory: 0.23 });
  });

  it('have what was cut no more, until a measurement has seen that it is gone', () => {
    const { meter, ledger, account, heap } = meterOf();
    const cut = new Account(ledger);
    cut.set(80, 0);
    account.set(50, 0);
    heap.live = 300;
    expect(meter.shares().heap).toBe(0.3);
    meter.cutSinceMeasured += 80;
    cut.close();
    expect(meter.shares().heap).toBe(0.22);
    account.close();
    expect(meter.shares().heap, 'of what ends by itself only a measurement tells').toBe(0.22);
    heap.live = 150;
    account.close();
    expect([meter.shares().heap, meter.cutSinceMeasured, meter.evictedSinceMeasured]).toEqual([0.15, 0, 0]);
  });

  it('have what is expected on top of what was measured', () => {
    const { meter, account } = meterOf();
    account.set(100, 100);
    meter.look();
    meter.expect(40);
    expect(meter.shares().memory).toBe(0.24);
  });
});

describe('the excess', () => {
  it('is that of the heap or of the memory, whichever is more, without what was evicted', () => {
    const { meter, heap } = meterOf({ live: 500, resident: 700 });
    expect(meter.excess({ heap: 0.4, memory: 0.9 })).toBe(100);
    expect(meter.excess({ heap: 0.9, memory: 0.5 })).toBe(200);
    expect(meter.excess({ heap: 0.6, memory: 0.9 })).toBe(-100);
    meter.evictedSinceMeasured += 150;
    expect(meter.excess({ heap: 0.9, memory: 0.5 })).toBe(50);
    heap.live = 501;
    meter.shares();
    expect(meter.excess({ heap: 0.9, memory: 0.5 }), 'a measurement has seen it').toBe(200);
  });
});

describe('the process is measured again', () => {
  it('when more than 4 MiB were held or freed since', () => {
    const { meter, account, process } = meterOf({ limit: 1000 * MiB });
    const looked = (bytes: number) => {
      account.set(bytes, 0);
      process.now += MiB;
      const before = meter.shares().memory;
      meter.lookIfDue();
      return meter.shares().memory !== before;
    };
    expect([4 * MiB, 4 * MiB + 1].map(looked)).toEqual([false, true]);
    expect([MiB, 0].map(looked)).toEqual([false, true]);
  });

  it('when 4 MiB of messages were read since', () => {
    const { meter } = meterOf();
    expect([4 * MiB - 1, 1].map((bytes) => meter.worked(bytes))).toEqual([false, true]);
    meter.look();
    expect([4 * MiB - 1, 1].map((bytes) => meter.worked(bytes))).toEqual([false, true]);
  });
});

describe('a collection', () => {
  it('that is refused changes nothing', () => {
    const { meter, heap, process } = meterOf();
    heap.collects = false;
    process.now = 900;
    expect([meter.collect('urgent'), meter.collect('affordable')]).toEqual([false, false]);
    expect([heap.asked, meter.shares().memory]).toEqual([['urgent', 'affordable'], 0.2]);
  });

  it.each<[string, { live: number; resident: number; pages: number }, boolean]>([
    ['V8 may keep many empty ones', { live: 60, resident: 601, pages: 311 }, true],
    ['the process is small', { live: 60, resident: 600, pages: 311 }, false],
    ['a quarter of the empty ones is live', { live: 80, resident: 1000, pages: 400 }, false],
    ['few are empty, and bodies fill the rest', { live: 60, resident: 1000, pages: 310 }, false],
  ])('gives pages back, or not, where %s', (_, { live, resident, pages }, expected) => {
    const { meter, heap, process } = meterOf({ live });
    heap.hasPages = pages;
    meter.look();
    // What a collection of V8's own empties is no longer the heap's.
    heap.hasPages = live;
    process.now = resident;
    expect(meter.collect('affordable')).toBe(true);
    expect(heap.asked).toEqual(expected ? ['affordable', 'give_back'] : ['affordable']);
    expect(meter.collect('affordable')).toBe(true);
    expect(heap.asked.filter((kind) => kind === 'give_back')).toHaveLength(expected ? 1 : 0);
  });

  it('is looked at, and what was given back too', () => {
    const { meter, heap, process } = meterOf({ live: 50 });
    process.now = 800;
    heap.hasPages = 800;
    heap.collect = (kind) => {
      if (kind === 'give_back') process.now = 300;
      return true;
    };
    expect(meter.collect('urgent')).toBe(true);
    expect(meter.shares().memory).toBe(0.3);
  });
});

describe('what an idle process gives back', () => {
  /** A process of 100 MiB; `at` gives how often it has given back by each of these milliseconds, looking every half second. */
  function idleProcess() {
    const { meter, heap, process } = meterOf({ limit: 1000 * MiB, resident: 100 * MiB });
    const work = { isIdle: true };
    let now = 0;
    const at = (ms: number) => {
      for (; now <= ms; now += 500) meter.giveBackIfIdle(work.isIdle, now);
      return heap.asked.length;
    };
    return { work, process, heap, at };
  }

  it('is what a start leaves, a second after it, and no more', () => {
    const { at, heap } = idleProcess();
    expect([500, 1000, 120_000].map(at)).toEqual([0, 1, 1]);
    expect(heap.asked).toEqual(['give_back']);
  });

  it('is what a load leaves, after 20 and 25 seconds without work, if it is more than 8 MiB', () => {
    const { work, process, at } = idleProcess();
    const loadUntil = (ms: number, bytes: number) => {
      work.isIdle = false;
      at(ms);
      work.isIdle = true;
      process.now = bytes;
    };
    at(1000);
    loadUntil(6000, 108 * MiB + 1);
    expect([25_500, 26_000, 30_500, 31_000, 120_000].map(at)).toEqual([1, 2, 2, 3, 3]);
    loadUntil(130_000, 108 * MiB);
    expect(at(240_000), 'by the least that was left, not by the last').toBe(3);
    loadUntil(250_000, 200 * MiB);
    expect(at(360_000)).toBe(5);
  });

  it('is what a process without any work has grown by', () => {
    const { process, at } = idleProcess();
    at(1000);
    process.now = 120 * MiB;
    expect([19_500, 20_000].map(at)).toEqual([1, 2]);
  });

  it('is what a load leaves that began with the process', () => {
    const { work, at } = idleProcess();
    work.isIdle = false;
    at(5000);
    work.isIdle = true;
    expect([24_500, 120_000].map(at)).toEqual([0, 1]);
  });

  it('waits until the heap may give back', () => {
    const { heap, at } = idleProcess();
    heap.collects = false;
    at(1000);
    heap.collects = true;
    expect(at(120_000)).toBe(2);
  });
});

it('a ledger has the sum of what its accounts hold, and of that the bodies', () => {
  const ledger = new Ledger();
  const one = new Account(ledger);
  const other = new Account(ledger);
  one.set(110, 100);
  other.set(50, 50);
  other.setUnsent(7);
  one.set(70, 60);
  expect([ledger.bytes, ledger.bodies, ledger.heap]).toEqual([127, 110, 17]);
  expect([one.held, one.body, one.total, other.total]).toEqual([70, 60, 70, 57]);
  one.close();
  one.set(1000, 1000);
  one.setUnsent(1000);
  expect([ledger.bytes, ledger.bodies, one.total]).toEqual([57, 50, 0]);
});
