import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createLog } from '../../../../src/service/telemetry/log.ts';

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
