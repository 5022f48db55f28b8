import fc from 'fast-check';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import {
  createLineWriter,
  createLog,
  createOccasionalWarning,
  createSampledInfo,
  logMessages,
} from '../../../../src/service/telemetry/log.ts';
import { codePoint } from '../../../support/code-point.ts';

beforeEach(() => void vi.useFakeTimers({ now: Date.UTC(2026, 10, 22), toFake: ['Date'] }));
afterEach(() => void vi.useRealTimers());

test.each([
  [null, ''],
  [3, ',"worker":3'],
])('a line has its level in words, the time, and its worker %j', (worker, shown) => {
  const lines: string[] = [];
  const log = createLog('info', { write: (line: string) => void lines.push(line) }, worker);
  log.debug({ a: 1 }, 'stopping');
  log.warn({ a: 1 }, 'stopped');
  expect(lines).toEqual([`{"level":"warn","time":"2026-11-22T00:00:00.000Z"${shown},"a":1,"msg":"stopped"}\n`]);
});

test.each([null, 3])('a line of the writer beside pino is the one that pino writes, of worker %j', (worker) => {
  const lines: string[] = [];
  const destination = { write: (line: string) => void lines.push(line) };
  const log = createLog('info', destination, worker);
  const write = createLineWriter(log, destination);
  const text = fc.string({ maxLength: 60, unit: fc.oneof(codePoint, fc.constantFrom('"', '\\', '\n', '\u2028')) });
  const list = fc.array(fc.oneof(text, fc.integer()), { maxLength: 3 });
  const value = fc.oneof(text, fc.double(), fc.boolean(), fc.constantFrom(null, undefined), list);
  const fields = fc.dictionary(fc.stringMatching(/^[a-z_]{1,9}$/), value, { maxKeys: 5 });
  fc.assert(
    fc.property(fields, fc.constantFrom(...logMessages), (given, message) => {
      lines.length = 0;
      log.warn(given, message);
      write('warn', given, message);
      expect(lines[1]).toBe(lines[0]);
    }),
  );
});

test('what a reader may take for the end of a line, or the other direction, is escaped', () => {
  const lines: string[] = [];
  const log = createLog('info', { write: (line: string) => void lines.push(line) });
  const id = 'a\u2028b\u2029c\u0085d\u202ee\u007ff';
  log.info({ id }, 'exchange');
  expect(lines.join('')).toContain('"id":"a\\u2028b\\u2029c\\u0085d\\u202ee\\u007ff","msg":"exchange"');
  expect(JSON.parse(lines.join(''))).toMatchObject({ id });
});

test('of a flood the first lines of a second are logged, and the next second’s first has how many were not', () => {
  const lines: { readonly n: number; readonly unlogged?: number }[] = [];
  const log = createLog('info', { write: (line: string) => void lines.push(JSON.parse(line)) });
  let now = 0;
  const info = createSampledInfo(log, 'websocket refused', () => now);
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

test('a flood that goes on is told of with each second, from its first line on', () => {
  const lines: object[] = [];
  const log = createLog('info', { write: (line: string) => void lines.push(JSON.parse(line)) });
  let now = 5000;
  const info = createSampledInfo(log, 'websocket refused', () => now);
  const told = (count: number) => {
    for (let n = 0; n < count; n++) info({});
    return lines.splice(0).length;
  };
  expect([told(9), told(1), told(1)]).toEqual([9, 1, 0]);
  now = 5999;
  expect(told(1)).toBe(0);
  now = 6000;
  expect([told(10), told(5)]).toEqual([10, 0]);
});

test('a warning that recurs is logged once a minute, with how often it was since', () => {
  const lines: object[] = [];
  const log = createLog('info', { write: (line: string) => void lines.push(JSON.parse(line)) });
  let now = 7;
  const warn = createOccasionalWarning(log, 'TLS handshake failed', () => now);
  for (const [at, count] of [
    [7, 1],
    [8, 2],
    [60_006, 3],
    [60_007, 4],
    [120_006, 5],
    [120_007, 6],
  ] as const) {
    now = at;
    warn(count, { reason: `at ${at}` });
  }
  expect(lines).toMatchObject([
    { level: 'warn', msg: 'TLS handshake failed', reason: 'at 7', count: 1 },
    { reason: 'at 60007', count: 9 },
    { reason: 'at 120007', count: 11 },
  ]);
  expect(lines).toHaveLength(3);
});
