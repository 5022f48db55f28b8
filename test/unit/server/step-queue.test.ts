import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createStepQueue } from '../../../src/server/step-queue.ts';

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
  const addTen = (name: string) => {
    for (let number = 1; number <= 10; number += 1) queue.add(work(`${name}${number}`, 4));
  };
  for (let number = 1; number <= 25; number += 1) {
    expect(queue.hasTime(), `${number}`).toBe(true);
    work(`${number}`, 4)();
  }
  expect(queue.hasTime()).toBe(false);
  log.length = 0;
  for (const name of ['a', 'b', 'c']) addTen(name);
  await setImmediate();
  expect(log, 'one at least').toEqual(['a1']);
  await setImmediate();
  expect([log.length, log.at(-1)]).toEqual([26, 'c6']);
  expect(queue.hasTime(), 'c7 would be overtaken').toBe(false);
  await setImmediate();
  expect([log.length, log.at(-1)]).toEqual([30, 'c10']);
  expect(queue.hasTime()).toBe(true);
});

test('a costly step ends its turn', async () => {
  let ms = 1000;
  const queue = createStepQueue(100, () => ms);
  const log: string[] = [];
  const work = (name: string, took: number) => () => {
    ms += took;
    log.push(name);
    return true;
  };
  expect(queue.hasTime()).toBe(true);
  work('at once', 6)();
  expect(queue.hasTime()).toBe(false);
  for (const [name, took] of [
    ['a', 5],
    ['b', 6],
    ['c', 1],
    ['d', 1],
  ] as const)
    queue.add(work(name, took));
  await setImmediate();
  expect(log).toEqual(['at once', 'a', 'b']);
  await setImmediate();
  expect(log).toEqual(['at once', 'a', 'b', 'c', 'd']);
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
