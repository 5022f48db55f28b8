import { expect, test } from 'vitest';
import { changedSince, nearestTests } from '../../../scripts/tests/nearest-tests.ts';

test('the tests that a change reaches begin with those that import it', () => {
  const { near, others } = nearestTests(['src/filter/wire/sse/encode-events.ts']);
  expect(near).toHaveLength(10);
  expect(near).toEqual(
    expect.arrayContaining(['test/golden/stream.test.ts', 'test/unit/filter/wire/sse/encode-events.test.ts']),
  );
  expect(near.filter((file) => !/^test\/(unit|golden)\//.test(file))).toEqual([]);
  expect(others).toBeGreaterThan(50);
});

test('tests with processes are named where these are the nearest, and foreign ones are left out', () => {
  const { near, withProcesses } = nearestTests(['src/service/websocket/client-socket.ts']);
  expect(withProcesses[0]).toBe('test/grpc/websocket.test.ts');
  expect(near).not.toContain('test/unit/tools/doctor/terminal.test.ts');
});

test('a changed test is the nearest, and what no test imports reaches none', () => {
  const itself = 'test/unit/scripts/nearest-tests.test.ts';
  expect(nearestTests(['src/filter/upstream/profile.ts', itself]).near).toContain(itself);
  expect(nearestTests([itself]).near).toEqual([itself]);
  expect(nearestTests(['README.md', 'gone.ts'])).toEqual({ near: [], withProcesses: [], others: 0 });
});

test('a revision that is none is told in git’s words', () => {
  expect(() => changedSince('nowhere')).toThrow(/nowhere/);
});
