import fc from 'fast-check';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createLineWriter, createLog } from '../../../../src/service/telemetry/log.ts';
import { codePoint } from '../../../support/code-point.ts';

beforeEach(() => void vi.useFakeTimers({ now: Date.UTC(2026, 10, 22), toFake: ['Date'] }));
afterEach(() => void vi.useRealTimers());

/** A log, a writer of its lines, and what the two have written. */
function writerOf(level: 'info' | 'error', worker: number | null = null) {
  const lines: string[] = [];
  const destination = { write: (line: string) => void lines.push(line) };
  const log = createLog(level, destination, worker);
  return { log, write: createLineWriter(log, destination), lines };
}

const text = fc.string({
  maxLength: 60,
  unit: fc.oneof(codePoint, fc.constantFrom('"', '\\', '\n', '\u2028')),
});
const value = fc.oneof(
  text,
  fc.double(),
  fc.boolean(),
  fc.constantFrom(null, undefined),
  fc.array(fc.oneof(text, fc.integer()), { maxLength: 3 }),
);

test.each([null, 3])('a line is the one that pino writes, of worker %j', (worker) => {
  const { log, write, lines } = writerOf('info', worker);
  fc.assert(
    fc.property(fc.dictionary(fc.stringMatching(/^[a-z_]{1,9}$/), value, { maxKeys: 5 }), text, (fields, message) => {
      lines.length = 0;
      log.warn(fields, message);
      write('warn', fields, message);
      expect(lines[1]).toBe(lines[0]);
    }),
    { numRuns: 1000 },
  );
});

test('a line below the level is not written', () => {
  const { write, lines } = writerOf('error');
  write('info', { a: 1 }, 'hidden');
  expect(lines).toEqual([]);
  write('error', {}, 'shown');
  expect(lines).toEqual(['{"level":"error","time":"2026-11-22T00:00:00.000Z","msg":"shown"}\n']);
});
