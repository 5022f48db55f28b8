import { describe, expect, it } from 'vitest';
import { heapLimit, MeasuredHeap } from '../../../../src/service/memory/heap.ts';

const MiB = 1024 * 1024;

/** A gauge on a heap of our own: what is used, what a collection leaves and takes, and the clock are set by the test. */
function gaugeOf() {
  const heap = { used: 0, live: 0, now: 0, took: 0, collections: 0, givenBack: 0 };
  const waiting: (() => void)[] = [];
  const gauge = new MeasuredHeap(1000, {
    collect(givesBack) {
      heap.collections += 1;
      if (givesBack) heap.givenBack += 1;
      heap.used = heap.live;
      heap.now += heap.took;
    },
    used: () => heap.used,
    now: () => heap.now,
    soon: (run) => waiting.push(run),
  });
  const turn = () => {
    for (const run of waiting.splice(0)) run();
  };
  return { gauge, heap, turn };
}

describe('the heap gauge', () => {
  it('knows what the last collection left, however much is allocated after it', () => {
    const { gauge, heap } = gaugeOf();
    heap.used = 300;
    gauge.collected(heap.now);
    heap.used = 900;
    expect(gauge.live).toBe(300);
  });

  it('measures a collection of its own once, though Node tells of it later', () => {
    const { gauge, heap } = gaugeOf();
    heap.took = 100;
    heap.live = 300;
    expect(gauge.collect(true)).toBe(true);
    heap.used = 900;
    gauge.collected(heap.now);
    expect(gauge.live).toBe(300);
    heap.now += 1;
    gauge.collected(heap.now);
    expect(gauge.live).toBe(900);
  });

  it('collects when asked to, after what is being done, and then knows what is live', () => {
    const { gauge, heap, turn } = gaugeOf();
    heap.used = 900;
    gauge.collected(heap.now);
    heap.now = 1_000;
    heap.live = 100;
    expect(gauge.refresh(false)).toBe(true);
    expect(gauge.live).toBe(900);
    turn();
    expect(gauge.live).toBe(100);
  });

  it('collects once for many who ask, and not again within a second of any measurement', () => {
    const { gauge, heap, turn } = gaugeOf();
    expect([gauge.refresh(true), gauge.refresh(true)]).toEqual([true, false]);
    turn();
    heap.now = 999;
    expect(gauge.refresh(true)).toBe(false);
    heap.now = 1_000;
    gauge.collected(heap.now); // V8's own
    heap.now = 1_999;
    expect(gauge.refresh(true)).toBe(false);
    heap.now = 2_000;
    expect(gauge.refresh(true)).toBe(true);
    turn();
    expect(heap.collections).toBe(2);
  });

  it('takes half of the time at most for those that are', () => {
    const { gauge, heap } = gaugeOf();
    heap.took = 300;
    expect([gauge.collect(true), gauge.collect(true)]).toEqual([true, false]); // ended at 300
    heap.now = 599;
    expect(gauge.collect(true)).toBe(false);
    heap.now = 600;
    expect(gauge.collect(true)).toBe(true);
  });

  it('takes a fifth of the time to give pages back', () => {
    const { gauge, heap } = gaugeOf();
    heap.took = 100;
    heap.used = 900;
    expect([gauge.giveBack(), gauge.giveBack()]).toEqual([true, false]);
    expect([heap.givenBack, gauge.live]).toEqual([1, 0]);
    heap.now = 599;
    expect(gauge.giveBack()).toBe(false);
    heap.now = 600;
    expect(gauge.giveBack()).toBe(true);
  });

  it('takes a twentieth of the time for collections that are not urgent', () => {
    const { gauge, heap, turn } = gaugeOf();
    heap.took = 200;
    gauge.refresh(false);
    turn(); // ends at 200
    heap.now = 4_199;
    expect(gauge.refresh(false)).toBe(false);
    heap.now = 4_200;
    expect(gauge.refresh(false)).toBe(true);
    turn(); // ends at 4,400
    heap.now = 5_400;
    expect(gauge.refresh(true)).toBe(true);
  });
});

describe('the limit of the heap', () => {
  it('is the old generation alone, whatever the young one is sized to', () => {
    expect(heapLimit(['--max-old-space-size=320'], 512 * MiB)).toBe(320 * MiB);
    expect(heapLimit(['--single-threaded-gc', '--max-semi-space-size=16'], 368 * MiB)).toBe(320 * MiB);
    expect(heapLimit(['--max_semi_space_size=64', '--max_semi_space_size=16'], 368 * MiB)).toBe(320 * MiB);
  });

  it('is a third at least', () => {
    expect(heapLimit([], 96 * MiB)).toBe(32 * MiB);
  });
});
