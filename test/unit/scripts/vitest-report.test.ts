import { join } from 'node:path';
import { expect, test } from 'vitest';
import { countTests, namesTests, seedsOf } from '../../../scripts/tests/vitest-report.ts';

const file = (status: string, ...tests: string[]) => ({
  name: 'x.test.ts',
  status,
  assertionResults: tests.map((each) => ({ status: each })),
});

test.each([
  ['what passed', [file('passed', 'passed', 'passed')], true, { passed: 2, failed: 0 }],
  [
    'one failed test as one, however many describe blocks it is in',
    [file('failed', 'passed', 'failed')],
    false,
    { passed: 1, failed: 1 },
  ],
  ['a skipped test as not passed', [file('passed', 'passed', 'pending')], true, { passed: 1, failed: 1 }],
  ['the tests behind a hook that failed', [file('failed', 'pending', 'pending')], false, { passed: 0, failed: 2 }],
  ['a file that could not be loaded', [file('failed'), file('passed', 'passed')], false, { passed: 1, failed: 1 }],
  ['a run that failed for another reason', [file('passed', 'passed')], false, { passed: 1, failed: 1 }],
  ['a run that found nothing', [], false, { passed: 0, failed: 1 }],
] as const)('counts %s', (_name, testResults, success, counts) => {
  expect(countTests({ testResults }, success)).toEqual(counts);
});

test('where some tests were asked for by name, the others do not count', () => {
  const testResults = [file('passed', 'passed', 'skipped', 'skipped')];
  expect(countTests({ testResults }, true, true)).toEqual({ passed: 1, failed: 0 });
  const none = [file('passed', 'skipped', 'skipped')];
  expect(countTests({ testResults: none }, true, true), 'a name that no test has').toEqual({ passed: 0, failed: 1 });
  expect(namesTests(['test/unit/filter/wire/sse', '-t', 'a name'])).toBe(true);
  expect(namesTests(['test/unit/filter/wire/sse'])).toBe(false);
});

test('a property that failed is told with the command that plays it again', () => {
  const root = join(import.meta.dirname, '../../..');
  const failed = { status: 'failed', fullName: 'streams (property)', failureMessages: ['x {\n seed: -17, path: "1"'] };
  const other = { status: 'failed', fullName: 'other', failureMessages: ['expected 1'] };
  const testResults = [
    { name: join(root, 'test/fuzz/a.test.ts'), status: 'failed', assertionResults: [failed, other] },
  ];
  const command = 'npm test -- test/fuzz/a.test.ts --seed=-17';
  expect(seedsOf({ testResults }, ['unit'])).toEqual([`streams (property) failed: ${command}`]);
  expect(seedsOf({ testResults }, ['fuzz'])).toEqual([`streams (property) failed: PROPERTY_RUNS=all ${command}`]);
});
