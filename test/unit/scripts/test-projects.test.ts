import { expect, test } from 'vitest';
import { projectsOf, readTestWords } from '../../../scripts/tests/test-projects.ts';

const everywhere = ['unit', 'grpc', 'envoy'];

test.each([
  [['test/unit/filter/wire/sse'], ['unit']],
  [['./test/golden/stream.test.ts', '-t', 'Plain text'], ['unit']],
  [['test/fuzz/stream.test.ts'], ['unit']],
  [
    ['test/grpc/wire.test.ts', 'test/unit/filter/wire/sse'],
    ['grpc', 'unit'],
  ],
  [['test/faults/spike.test.ts'], ['faults']],
  [['-t', 'a name'], everywhere],
  [['wire'], everywhere],
  [['test'], everywhere],
  [
    ['test/unit/filter/wire/sse', 'server/wire'],
    ['unit', ...everywhere.slice(1)],
  ],
  [[], everywhere],
])('the projects of %j are %j', (words, projects) => {
  expect([...projectsOf(words, everywhere)].sort()).toEqual([...projects].sort());
});

test.each([
  [['a.test.ts', '--seed', '-5'], ['a.test.ts'], { FAST_CHECK_SEED: '-5' }, null],
  [['--seed=7', '-t', 'x'], ['-t', 'x'], { FAST_CHECK_SEED: '7' }, null],
  [['--changed', '-t', 'x'], ['-t', 'x'], {}, 'HEAD'],
  [['--changed=main~2'], [], {}, 'main~2'],
  [[], [], {}, null],
])('the arguments %j are read', (given, words, environment, changedSince) => {
  expect(readTestWords(given)).toEqual({ words, environment, changedSince });
});

test('a seed that is none is refused', () => {
  expect(() => readTestWords(['--seed'])).toThrow('--seed takes an integer, not "".');
  expect(() => readTestWords(['--seed=x'])).toThrow('--seed takes an integer, not "x".');
});
