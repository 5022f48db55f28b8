import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createLog, createSampledInfo } from '../../../../src/service/telemetry/log.ts';

beforeEach(() => void vi.useFakeTimers({ now: Date.UTC(2026, 10, 22), toFake: ['Date'] }));
afterEach(() => void vi.useRealTimers());

test.each([
  [null, ''],
  [3, ',"worker":3'],
])('a line has its level in words, the time, and its worker %j', (worker, shown) => {
  const lines: string[] = [];
  const log = createLog('info', { write: (line: string) => void lines.push(line) }, worker);
  log.debug({ a: 1 }, 'hidden');
  log.warn({ a: 1 }, 'shown');
  expect(lines).toEqual([`{"level":"warn","time":"2026-11-22T00:00:00.000Z"${shown},"a":1,"msg":"shown"}\n`]);
});

test('what a reader may take for the end of a line, or the other direction, is escaped', () => {
  const lines: string[] = [];
  const log = createLog('info', { write: (line: string) => void lines.push(line) });
  const id = 'a\u2028b\u2029c\u0085d\u202ee\u007ff';
  log.info({ id }, 'é');
  expect(lines.join('')).toContain('"id":"a\\u2028b\\u2029c\\u0085d\\u202ee\\u007ff","msg":"é"');
  expect(JSON.parse(lines.join(''))).toMatchObject({ id });
});

test('of a flood the first lines of a second are logged, and the next second’s first has how many were not', () => {
  const lines: { readonly n: number; readonly unlogged?: number }[] = [];
  const log = createLog('info', { write: (line: string) => void lines.push(JSON.parse(line)) });
  let now = 0;
  const info = createSampledInfo(log, 'refused', () => now);
  for (let n = 0; n < 25; n++) info({ n });
  now = 1000;
  info({ n: 25 });
  info({ n: 26 });
  expect(lines.map(({ n, unlogged }) => [n, unlogged])).toEqual([
    ...Array.from({ length: 10 }, (_, n) => [n, undefined]),
    [25, 15],
    [26, undefined],
  ]);
});
