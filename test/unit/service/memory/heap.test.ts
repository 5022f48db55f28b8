import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { constants, type PerformanceEntry, PerformanceObserver } from 'node:perf_hooks';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { createHeapGauge, heapLimit, MeasuredHeap, takeCollector } from '../../../../src/service/memory/heap.ts';

const MiB = 1024 * 1024;

/** A gauge on a heap of our own: what is used, what a collection leaves and takes, and the clock are set by the test. */
function gaugeOf() {
  const heap = { used: 0, live: 0, now: 0, took: 0, collections: 0, givenBack: 0 };
  const gauge = new MeasuredHeap(1000, {
    collect(givesBack) {
      heap.collections += 1;
      if (givesBack) heap.givenBack += 1;
      heap.used = heap.live;
      heap.now += heap.took;
    },
    used: () => heap.used,
    pages: () => 0,
    now: () => heap.now,
  });
  return { gauge, heap };
}

describe('the heap gauge', () => {
  it('has its limit, and has measured nothing at first', () => {
    const { gauge } = gaugeOf();
    expect([gauge.limit, gauge.live]).toEqual([1000, 0]);
  });

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
    expect(gauge.collect('urgent')).toBe(true);
    heap.used = 900;
    gauge.collected(heap.now);
    expect(gauge.live).toBe(300);
    heap.now += 1;
    gauge.collected(heap.now);
    expect(gauge.live).toBe(900);
  });

  it('takes half of the time at most for those that are', () => {
    const { gauge, heap } = gaugeOf();
    heap.took = 300;
    expect([gauge.collect('urgent'), gauge.collect('urgent')]).toEqual([true, false]); // ended at 300
    heap.now = 599;
    expect(gauge.collect('urgent')).toBe(false);
    heap.now = 600;
    expect(gauge.collect('urgent')).toBe(true);
  });

  it('takes a fifth of the time to give pages back', () => {
    const { gauge, heap } = gaugeOf();
    heap.took = 100;
    heap.used = 900;
    expect([gauge.collect('give_back'), gauge.collect('give_back')]).toEqual([true, false]);
    expect([heap.givenBack, gauge.live]).toEqual([1, 0]);
    heap.now = 599;
    expect(gauge.collect('give_back')).toBe(false);
    heap.now = 600;
    expect(gauge.collect('give_back')).toBe(true);
  });

  it('takes a twentieth of the time for collections that are not urgent', () => {
    const { gauge, heap } = gaugeOf();
    heap.took = 200;
    expect(gauge.collect('affordable')).toBe(true); // ends at 200
    heap.now = 4_199;
    expect(gauge.collect('affordable')).toBe(false);
    heap.now = 4_200;
    expect(gauge.collect('affordable')).toBe(true); // ends at 4,400
    heap.now = 4_600;
    expect([gauge.collect('affordable'), gauge.collect('urgent')]).toEqual([false, true]);
  });
});

describe('the gauge of this process', () => {
  it('measures when V8 has made a full collection, and not after one of the young generation', async () => {
    const collect = takeCollector();
    const { NODE_PERFORMANCE_GC_MAJOR, NODE_PERFORMANCE_GC_MINOR } = constants;
    let seen: unknown[] = [];
    const observer = new PerformanceObserver((list) => {
      const entries = list.getEntries() as (PerformanceEntry & { readonly detail?: { readonly kind: number } })[];
      seen.push(...entries.map(({ detail }) => detail?.kind));
    });
    observer.observe({ entryTypes: ['gc'] });
    // V8 may make a full one by itself meanwhile: then this tells nothing.
    do {
      seen = [];
      const gauge = createHeapGauge(2 ** 40);
      await collect({ type: 'minor', execution: 'sync' });
      await expect.poll(() => seen).toContain(NODE_PERFORMANCE_GC_MINOR);
      if (!seen.includes(NODE_PERFORMANCE_GC_MAJOR)) expect([gauge.limit, gauge.live]).toEqual([2 ** 40, 0]);
    } while (seen.includes(NODE_PERFORMANCE_GC_MAJOR));
    const gauge = createHeapGauge(2 ** 40);
    collect();
    await expect.poll(() => gauge.live).toBeGreaterThan(0);
    observer.disconnect();
  });

  it('takes V8’s collector when it needs it, and has it give pages back as V8 does before it runs out of memory', async () => {
    const calls: unknown[] = [];
    let taken = 0;
    const gauge = createHeapGauge(2 ** 40, () => {
      taken += 1;
      return ((...given: unknown[]) => void calls.push(given)) as NodeJS.GCFunction;
    });
    expect([taken, gauge.collect('urgent'), gauge.collect('give_back')]).toEqual([0, true, true]);
    expect([taken, calls]).toEqual([1, [[], [{ type: 'major', execution: 'sync', flavor: 'last-resort' }]]]);
    await expect.poll(() => gauge.collect('urgent')).toBe(true);
    expect(taken, 'it was not kept').toBe(2);
    expect(gauge.live).toBeGreaterThan(0);
  });
});

it('giving pages back is V8’s last collection, and a process that has watched its heap ends by itself', async () => {
  const source = join(import.meta.dirname, '../../../../src/service/memory/heap.ts');
  const script = `
    const { createHeapGauge } = await import(${JSON.stringify(source)});
    createHeapGauge(1).collect('give_back');`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--trace-gc', '--input-type=module', '-e', script]);
  expect(stdout).toMatch(/Mark-Compact \(reduce\).* testing;/);
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
