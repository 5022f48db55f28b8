import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createStepQueue } from '../../../../src/service/server/step-queue.ts';

test('works are done one after the other, and each step leaves the event loop to others', async () => {
  const queue = createStepQueue(0);
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

test('a turn takes the steps that begin within its time, and none waits for a turn of its own before that', async () => {
  let ms = 1000;
  const queue = createStepQueue(100, () => ms);
  const log: string[] = [];
  const work = (name: string, took: number) => () => {
    ms += took;
    log.push(name);
    return true;
  };
  expect(queue.hasTime()).toBe(true);
  work('at once', 99)();
  expect(queue.hasTime()).toBe(true);
  work('at once too', 1)();
  expect(queue.hasTime()).toBe(false);
  queue.add(work('one at least', 1));
  queue.add(work('a', 99));
  queue.add(work('b', 1));
  queue.add(work('c', 1));
  queue.add(work('d', 1));
  await setImmediate();
  expect(log).toEqual(['at once', 'at once too', 'one at least']);
  await setImmediate();
  expect(log.slice(3)).toEqual(['a', 'b']);
  expect(queue.hasTime(), 'c would be overtaken').toBe(false);
  await setImmediate();
  expect(log.slice(5)).toEqual(['c', 'd']);
  expect(queue.hasTime()).toBe(true);
});

test('the time of a turn begins anew with the next, and an idle queue does nothing', async () => {
  let ms = 1000;
  let looks = 0;
  const queue = createStepQueue(100, () => {
    looks += 1;
    return ms;
  });
  expect(queue.hasTime()).toBe(true);
  ms += 100;
  expect(queue.hasTime()).toBe(false);
  await setImmediate();
  expect(queue.hasTime()).toBe(true);
  await setImmediate();
  looks = 0;
  await setImmediate();
  await setImmediate();
  expect(looks).toBe(0);
});
