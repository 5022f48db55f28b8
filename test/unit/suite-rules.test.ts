import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { countTests, type VitestReport } from '../../scripts/tests/vitest-report.ts';
import vitestConfig from '../../vitest.config.ts';

/** Tests that prove nothing, each a file: it is red in every suite. */
const sabotages = {
  'checks nothing': `test('a', () => {});`,
  'loops over nothing': `test('a', () => { for (const one of []) expect(one).toBe(1); });`,
  'has an empty table': `test('a', () => { expect(1).toBe(1); }); test.each([])('%s', () => { expect(1).toBe(1); });`,
  'has an empty table of groups': `test('a', () => { expect(1).toBe(1); }); describe.each([])('%s', () => {});`,
  'has no test': '',
  'runs one alone': `test.only('a', () => { expect(1).toBe(1); });`,
  'skips one': `test.skip('a', () => { expect(1).toBe(1); });`,
  'skips one where it pleases': `test('a', (context) => { expect(1).toBe(1); context.skip(); });`,
  'leaves one to do': `test.todo('a'); test('b', () => { expect(1).toBe(1); });`,
  'has one that is to fail': `describe('in a group', () => { test.fails('a', () => { expect(1).toBe(2); }); });`,
  'has one that is to fail, by an option': `test('a', { fails: true }, () => { expect(1).toBe(2); });`,
  'tries again': `let tries = 0; test('a', { retry: 2 }, () => { tries += 1; expect(tries).toBe(2); });`,
};
const [good, ...bad] = ['proves something', ...Object.keys(sabotages)] as const;

/** They find vitest's package from here. */
const root = join(import.meta.dirname, '../..');
const vitest = join(root, 'node_modules/.bin/vitest');
const script = join(root, 'scripts/tests/vitest-report.ts');
mkdirSync(join(root, '.cache'), { recursive: true });
const folder = mkdtempSync(join(root, '.cache/suite-rules-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** What decides neither whether a test counts nor how it is loaded. */
const aside = new Set([
  'name',
  'include',
  'globalSetup',
  'env',
  'testTimeout',
  'hookTimeout',
  'fileParallelism',
  'sequence',
]);

/** A suite for each set of rules that one has: two, as Node loads the tests of some itself. */
const { projects: suites } = vitestConfig.test as { projects: readonly { test: { name: string } }[] };
const rulesOf = ({ test }: { test: object }) =>
  JSON.stringify(
    Object.entries(test)
      .filter(([name]) => !aside.has(name))
      .sort(),
  );
const different = Object.values(Object.groupBy(suites, rulesOf)).map((same = []) => same[0]?.test.name);

let report: VitestReport;

beforeAll(() => {
  const files = { ...sabotages, [good]: `test('a', () => { expect(1).toBe(1); });` };
  const output = join(folder, 'report.json');
  spawnSync(vitest, [...argumentsFor('sabotages', files), '--reporter=json', `--outputFile=${output}`], {
    cwd: folder,
  });
  report = JSON.parse(readFileSync(output, 'utf8'));
});

/** Writes files of tests into a folder; gives vitest's arguments that run them in each suite. */
function argumentsFor(name: string, files: Readonly<Record<string, string>>): readonly string[] {
  mkdirSync(join(folder, name));
  for (const [file, text] of Object.entries(files))
    writeFileSync(join(folder, name, `${file}.test.ts`), `import { describe, expect, test } from 'vitest';\n${text}\n`);
  const config = join(folder, `${name}.config.ts`);
  writeFileSync(
    config,
    `import config from '${join(root, 'vitest.config.ts')}';
     const own = { root: '${join(folder, name)}', include: ['*.test.ts'], globalSetup: [], fileParallelism: true, sequence: {} };
     const ours = config.test.projects.filter(({ test }) => ${JSON.stringify(different)}.includes(test.name));
     const projects = ours.map(({ test }) => ({ test: { ...test, ...own } }));
     export default { test: { ...config.test, root: '${join(folder, name)}', projects } };`,
  );
  return ['run', '--config', config];
}

/** What a file came to, once for each suite. */
const runsOf = (name: string) =>
  report.testResults.filter((file) => file.name === join(folder, 'sabotages', `${name}.test.ts`));

test('a file that proves something passes in every suite', () => {
  expect(suites.length).toBeGreaterThan(10);
  expect(runsOf(good).map((file) => countTests({ testResults: [file] }, true))).toEqual(
    different.map(() => ({ passed: 1, failed: 0 })),
  );
});

test.each(bad)('a file that %s is red in every suite', (name) => {
  const failed = runsOf(name).filter((file) => countTests({ testResults: [file] }, true).failed > 0);
  expect(failed).toHaveLength(different.length);
});

test.each([
  ['killed', 'vitest', 'SIGKILL', 1],
  ['told to end', 'vitest', 'SIGTERM', 1],
  ['interrupted at the terminal, as all processes of its group are', 'vitest', 'SIGINT', -1],
  ['killed with the script that runs it', 'script', 'SIGKILL', 1],
  ['over, with --bail, after another test has failed', 'bail', null, 1],
] as const)('what tests have started ends with a run that is %s', async (_how, what, signal, direction) => {
  // Each process has a connection, which ends when it does: one that a test starts, one in a group of its own, and the child of that one.
  const connections = new Set<Socket>();
  const mayFail: Socket[] = [];
  const server = createServer((connection) => {
    connections.add(connection);
    connection.on('error', () => {}).on('close', () => connections.delete(connection));
    connection.on('data', () => mayFail.push(connection));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const program = `require('node:net').connect(${port}, '127.0.0.1').on('close', () => process.exit());`;
  const files = {
    'starts processes': `
      import { spawn } from 'node:child_process';
      test('a', async () => {
        const words = ['-e', ${JSON.stringify(program)}];
        spawn(process.execPath, words);
        spawn('sh', ['-c', '"$0" "$@" & "$0" "$@"; wait', process.execPath, ...words], { detached: true });
        await new Promise(() => {});
      });`,
    ...(what === 'bail' && {
      'fails when it is told to': `
        import { connect } from 'node:net';
        test('a', async () => {
          const told = connect(${port}, '127.0.0.1');
          told.write('ready');
          await new Promise((resolve) => told.on('data', resolve));
          told.destroy();
          expect(1).toBe(2);
        });`,
    }),
  };
  const words = argumentsFor(`${what}-${signal}`, files);
  const projects = what === 'script' ? different.slice(0, 1) : different;
  const bail = what === 'bail' ? ['--bail=1', `--maxWorkers=${2 * projects.length}`] : [];
  const run =
    what === 'script'
      ? spawn(process.execPath, [script, String(projects[0]), ...words.slice(1)], { cwd: folder, stdio: 'ignore' })
      : spawn(vitest, [...words, ...bail], { cwd: folder, detached: true, stdio: 'ignore' });
  const ended = once(run, 'exit');
  try {
    await expect.poll(() => connections.size - mayFail.length).toBe(3 * projects.length);
    if (signal === null) {
      await expect.poll(() => mayFail.length).toBe(projects.length);
      for (const connection of mayFail) connection.write('now');
    } else process.kill(direction * (run.pid ?? 0), signal);
    await ended;
    await expect.poll(() => connections.size).toBe(0);
  } finally {
    for (const connection of connections) connection.destroy();
    server.close();
  }
});
