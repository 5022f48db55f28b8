import { execFile } from 'node:child_process';
import { totalmem } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { memoryOfProcess, releaseWhenIdle, residentReader } from '../../../src/program/process-memory.ts';
import { heapLimit } from '../../../src/service/memory/heap.ts';

const MiB = 1024 * 1024;

describe('the memory that is given back', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'setInterval'] }));
  afterEach(() => void vi.useRealTimers());

  /** A process with that work; `at` gives how often it has collected by each of these milliseconds. */
  function processOf(work: { exchanges: number; admitted: number }) {
    const process = { bytes: 100 * MiB, collected: 0 };
    const collect = () => {
      process.collected += 1;
    };
    releaseWhenIdle(work, () => process.bytes, collect);
    let now = 0;
    const at = (ms: number) => {
      vi.advanceTimersByTime(ms - now);
      now = ms;
      return process.collected;
    };
    return { work, process, at };
  }

  it('is what a start leaves, a second after it', () => {
    const { at } = processOf({ exchanges: 0, admitted: 0 });
    expect([999, 1000, 120_000].map(at)).toEqual([0, 1, 1]);
  });

  it.each([
    ['runs', { exchanges: 1, admitted: 1 }],
    ['has been', { exchanges: 0, admitted: 1 }],
  ])('is none of a start while work %s', (_, work) => {
    expect(processOf(work).at(1000)).toBe(0);
  });

  it('is what a load leaves, at the fourth and the fifth look without work, if it is more than 8 MiB', () => {
    const { work, process, at } = processOf({ exchanges: 0, admitted: 0 });
    at(1000);
    work.admitted = 5;
    process.bytes = 108 * MiB + 1;
    at(6000); // sees the work
    expect([21_000, 25_999, 26_000, 31_000, 36_000, 120_000].map(at)).toEqual([1, 1, 2, 3, 3, 3]);
    work.admitted = 6;
    process.bytes = 108 * MiB;
    expect(at(240_000)).toBe(3);
    work.exchanges = 1;
    process.bytes = 200 * MiB;
    expect(at(360_000), 'not while one runs').toBe(3);
    work.exchanges = 0;
    expect(at(480_000)).toBe(5);
  });

  it('is what a process without any work has grown by, at the fourth look too', () => {
    const { process, at } = processOf({ exchanges: 0, admitted: 0 });
    at(1000);
    process.bytes = 120 * MiB;
    expect([20_999, 21_000].map(at)).toEqual([1, 2]);
  });

  it('is measured by the least that a collection has left', () => {
    const { work, process, at } = processOf({ exchanges: 0, admitted: 0 });
    at(1000);
    work.admitted = 1;
    process.bytes = 120 * MiB;
    expect(at(120_000)).toBe(3);
    work.admitted = 2;
    process.bytes = 109 * MiB;
    expect(at(240_000), 'not by the last one').toBe(5);
  });

  it('is what a load leaves that began with the process', () => {
    const { work, at } = processOf({ exchanges: 1, admitted: 1 });
    at(1000);
    work.exchanges = 0;
    expect(at(120_000)).toBe(1);
  });
});

it('a process that has nothing to do makes V8’s last collection, and ends by itself', async () => {
  const source = join(import.meta.dirname, '../../../src/program/process-memory.ts');
  const script = `
    const { releaseWhenIdle } = await import(${JSON.stringify(source)});
    const timeouts = [];
    globalThis.setTimeout = (call) => ({ unref: () => timeouts.push(call) });
    releaseWhenIdle({ exchanges: 0, admitted: 0 }, () => 0);
    for (const call of timeouts) call();`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--trace-gc', '--input-type=module', '-e', script]);
  expect(stdout).toMatch(/Mark-Compact \(reduce\).* testing;/);
});

it('the memory of a process is V8’s heap and what the machine or the container has', () => {
  const { heap, total } = memoryOfProcess();
  const flags = [...process.execArgv, ...(process.env['NODE_OPTIONS'] ?? '').split(' ')];
  expect(heap).toBe(heapLimit(flags));
  const most = process.constrainedMemory();
  expect(total).toBe(most > 0 && most < totalmem() ? most : totalmem());
});

it('the flags that size the heap may come from the environment', () => {
  vi.stubEnv('NODE_OPTIONS', '--trace-warnings  --max-semi-space-size=1');
  const { heap } = memoryOfProcess();
  vi.unstubAllEnvs();
  expect(heap).toBe(heapLimit(['--max-semi-space-size=1']));
});

it('the size of the process is what Node says it is, also after it has grown', () => {
  const residentBytes = residentReader();
  const isAsNodeSays = () => Math.abs(residentBytes() / process.memoryUsage.rss() - 1) < 0.25;
  expect(isAsNodeSays()).toBe(true);
  const grown = Buffer.alloc(128 * MiB, 1);
  expect(isAsNodeSays()).toBe(true);
  expect(residentBytes()).toBeGreaterThan(grown.length);
});

it('a file that says something else is not believed', () => {
  for (const file of ['/proc/self/cmdline', '/dev/zero', import.meta.dirname])
    expect(residentReader(file)()).toBeGreaterThan(7 * MiB);
});

it('where no file tells it, the size stays what it was while Node cannot read it', () => {
  const residentBytes = residentReader('/proc/none');
  const rss = vi.spyOn(process.memoryUsage, 'rss').mockReturnValueOnce(7 * MiB);
  expect(residentBytes()).toBe(7 * MiB);
  rss.mockImplementationOnce(() => {
    throw new Error('EMFILE');
  });
  expect(residentBytes()).toBe(7 * MiB);
  rss.mockRestore();
  expect(residentBytes()).toBeGreaterThan(7 * MiB);
});
