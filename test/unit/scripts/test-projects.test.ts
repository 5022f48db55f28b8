import { expect, test } from 'vitest';
import { projectsOf } from '../../../scripts/test-projects.ts';

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
