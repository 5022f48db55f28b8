import { beforeAll, type RunnerTask, type RunnerTestCase } from 'vitest';

/**
 * A setup file of every project: a file fails if one of its tests may fail (`it.fails`) or is tried again (`retry`, `repeats`). A test that
 * is skipped counts as failed in `countTests` of scripts/tests/vitest-report.ts.
 */
// biome-ignore lint/correctness/noEmptyPattern: vitest reads this pattern, to know what a hook needs.
beforeAll(({}, file) => {
  for (const { name, fails, retry, repeats } of testsIn(file.tasks))
    if (fails || retry || repeats)
      throw new Error(`“${name}” may fail, or is tried again: a test passes or shows a fault`);
});

function testsIn(tasks: readonly RunnerTask[]): RunnerTestCase[] {
  return tasks.flatMap((task) => (task.type === 'suite' ? testsIn(task.tasks) : [task]));
}
