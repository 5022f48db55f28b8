import { totalmem } from 'node:os';
import { expect, it, vi } from 'vitest';
import { createSizeReader, readMemory } from '../../../src/program/process-memory.ts';
import { heapLimit } from '../../../src/service/memory/heap.ts';

const MiB = 1024 * 1024;

it('the memory of a process is V8’s heap and what the machine or the container has', () => {
  const { heap, total } = readMemory();
  const flags = [...process.execArgv, ...(process.env['NODE_OPTIONS'] ?? '').split(' ')];
  expect(heap).toBe(heapLimit(flags));
  const most = process.constrainedMemory();
  expect(total).toBe(most > 0 && most < totalmem() ? most : totalmem());
});

it('the flags that size the heap may come from the environment', () => {
  vi.stubEnv('NODE_OPTIONS', '--trace-warnings  --max-semi-space-size=1');
  const { heap } = readMemory();
  vi.unstubAllEnvs();
  expect(heap).toBe(heapLimit(['--max-semi-space-size=1']));
});

it('the size of the process is what Node says it is, also after it has grown', () => {
  const residentBytes = createSizeReader();
  const isAsNodeSays = () => Math.abs(residentBytes() / process.memoryUsage.rss() - 1) < 0.25;
  expect(isAsNodeSays()).toBe(true);
  const grown = Buffer.alloc(128 * MiB, 1);
  expect(isAsNodeSays()).toBe(true);
  expect(residentBytes()).toBeGreaterThan(grown.length);
});

it('a file that says something else is not believed', () => {
  for (const file of ['/proc/self/cmdline', '/dev/zero', import.meta.dirname])
    expect(createSizeReader(file)()).toBeGreaterThan(7 * MiB);
});

it('where no file tells it, the size stays what it was while Node cannot read it', () => {
  const residentBytes = createSizeReader('/proc/none');
  const rss = vi.spyOn(process.memoryUsage, 'rss').mockReturnValueOnce(7 * MiB);
  expect(residentBytes()).toBe(7 * MiB);
  rss.mockImplementationOnce(() => {
    throw new Error('EMFILE');
  });
  expect(residentBytes()).toBe(7 * MiB);
  rss.mockRestore();
  expect(residentBytes()).toBeGreaterThan(7 * MiB);
});
