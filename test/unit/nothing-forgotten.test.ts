import { globSync, readdirSync, readFileSync } from 'node:fs';
import { join, matchesGlob } from 'node:path';
import { expect, test } from 'vitest';
import { suites } from '../../scripts/suites.ts';
import { builtInProfiles } from '../../src/filter/upstream/profiles.ts';
import vitestConfig from '../../vitest.config.ts';
import { readGoldenCases } from '../support/golden.ts';
import { serverGuards, toolGuards } from '../support/server-guards.ts';

const root = join(import.meta.dirname, '../..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const sources = globSync(['src/**/*.ts', 'tools/**/*.ts'], { cwd: root });

test('every test file is in a project of vitest.config.ts (else: add it to an `include`)', () => {
  const { projects = [] } = (vitestConfig as { test?: { projects?: { test: { include: string[] } }[] } }).test ?? {};
  const included = projects.flatMap(({ test: { include } }) => include);
  const files = globSync('test/**/*.test.ts', { cwd: root });
  expect(files.length).toBeGreaterThan(200);
  expect(files.filter((file) => !included.some((pattern) => matchesGlob(file, pattern)))).toEqual([]);
});

test('every test script is a suite that runs (else: add it to scripts/suites.ts, and to .ci/run or nightly.yml)', () => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
  const tests = Object.keys(scripts).filter((name) => /^(test(:.*)?|fuzz|mutate|api-watch)$/.test(name));
  expect(tests.filter((name) => !suites.some(([suite]) => suite === name))).toEqual([]);
});

/** The kinds of golden files, `KIND-….md` or `KIND.md`, and the blocks that their runners read. */
const kinds: Readonly<Record<string, readonly string[]>> = {
  request: ['chat', 'context', 'dropped', 'echo', 'error', 'profiles', 'request', 'settings'],
  stream: [
    ...['upstream', 'client', 'client error', 'client response', 'context', 'request'],
    ...['upstream json', 'upstream escaped'],
  ],
  completion: ['client', 'context', 'error', 'request', 'settings', 'upstream'],
  errors: ['upstream', 'client', 'statuses'],
  websocket: ['limits', 'session'],
};

test.each(readdirSync(join(root, 'test/golden')).filter((name) => name.endsWith('.md')))(
  'test/golden/%s has a runner, which reads each of its blocks (else: correct the name, or teach the runner and `kinds`)',
  (name) => {
    const known = kinds[/^[a-z]+/.exec(name)?.[0] ?? ''];
    expect(known, 'no runner reads a file of that name').toBeDefined();
    const cases = readGoldenCases(new URL(`../golden/${name}`, import.meta.url));
    const unknown = cases.flatMap(({ where, blocks }) =>
      blocks.filter((block) => !known?.includes(block.name)).map((block) => `${where}: ${block.name}`),
    );
    expect(unknown).toEqual([]);
  },
);

test('variables are read through settings-table.ts alone (else: add a row there, and read it from the configuration)', () => {
  const reads = /\bprocess\.env\b|^import .*\benv\b.* from '(?:node:)?process'/m;
  const readers = sources.filter((file) => file.startsWith('src/') && reads.test(read(file)));
  expect(readers.toSorted()).toEqual([
    'src/service/program/probe.ts', // gives all of them to the table
    'src/service/program/process-memory.ts', // Node's own NODE_OPTIONS
    'src/service/program/program.ts', // gives all of them to the table
    'src/service/server/workers.ts', // the number that the supervisor gives a worker
  ]);
});

test('no two exported types share a name (else: name the thing that it is)', () => {
  const names = sources.flatMap((file) =>
    [...read(file).matchAll(/^export (?:interface|type|class) (\w+)/gm)].map(([, name = '']) => name),
  );
  const twice = [...new Set(names.filter((name, index) => names.indexOf(name) !== index))];
  expect(names.length).toBeGreaterThan(200);
  expect(twice).toEqual([]);
});

test('every server has a guard of what it refuses (else: add one to test/support/server-guards.ts)', () => {
  const guarded = [...serverGuards, ...toolGuards].map(({ profile }) => profile);
  expect(guarded.filter((name) => !builtInProfiles.has(name))).toEqual([]);
  expect([...builtInProfiles.keys()].filter((name) => !guarded.includes(name))).toEqual([]);
});
