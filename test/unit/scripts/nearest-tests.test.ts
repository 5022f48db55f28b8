import { expect, test } from 'vitest';
import { changedSince, nearestTests } from '../../../scripts/nearest-tests.ts';

test('the tests that a change reaches begin with those that import it', () => {
  const reached = nearestTests(['src/filter/wire/sse/encode-events.ts']);
  const direct = ['test/golden/stream.test.ts', 'test/unit/filter/wire/sse/encode-events.test.ts'];
  expect(reached.slice(0, 8)).toEqual(expect.arrayContaining(direct));
  // Through dozens of files, the last of them with a process.
  expect(reached.indexOf('test/unit/tools/doctor/terminal.test.ts')).toBeGreaterThan(50);
  expect(reached).not.toContain('test/unit/formats/sse/data.test.ts');
  expect(reached.filter((file) => !/^test\/(unit|golden)\//.test(file))).toEqual([]);
});

test('a changed test is the nearest, and what no test imports reaches none', () => {
  const itself = 'test/unit/scripts/nearest-tests.test.ts';
  expect(nearestTests(['src/filter/upstream/profile.ts', itself])[0]).toBe(itself);
  expect(nearestTests(['README.md', 'gone.ts'])).toEqual([]);
});

test('a revision that is none is told in git’s words', () => {
  expect(() => changedSince('nowhere')).toThrow(/nowhere/);
});
