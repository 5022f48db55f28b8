import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createStepQueue } from '../../../src/server/step-queue.ts';

test('works are done one after the other, and each step leaves the event loop to others', async () => {
  const queue = createStepQueue();
  const log: string[] = [];
  const work = (name: string, steps: number) => {
    let step = 0;
    queue.add(() => {
      step += 1;
      log.push(`${name}${step}`);
      return step === steps;
    });
  };
  work('a', 2);
  work('b', 1);
  expect(log).toEqual([]);
  for (const done of [['a1'], ['a1', 'a2'], ['a1', 'a2', 'b1']]) {
    await setImmediate();
    expect(log).toEqual(done);
  }
  await setImmediate();
  work('c', 1);
  await setImmediate();
  expect(log).toEqual(['a1', 'a2', 'b1', 'c1']);
});
