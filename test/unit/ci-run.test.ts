import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';

const root = join(import.meta.dirname, '../..');
const folder = mkdtempSync(join(tmpdir(), 'ci-run-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** Runs `.ci/run` with suites of which each prints a green count, but for `docker`, which runs these commands. */
function runCi(ofDocker: string, env: Readonly<Record<string, string>> = {}) {
  const programs = {
    npm: `if [ "$3" = docker ]; then ${ofDocker}\nelse echo '2 passed, 0 failed'; fi`,
    // Nothing is installed.
    'apt-get': '',
  };
  for (const [name, text] of Object.entries(programs)) {
    writeFileSync(join(folder, name), `#!/bin/sh\n${text}\n`);
    chmodSync(join(folder, name), 0o755);
  }
  const { status, stdout } = spawnSync(join(root, '.ci/run'), {
    encoding: 'utf8',
    env: { PATH: `${folder}:/usr/bin:/bin`, ...env },
  });
  const lines = stdout.trimEnd().split('\n');
  const linesOf = (start: string) => lines.filter((line) => line.startsWith(start));
  return { status, last: lines.at(-1), red: linesOf('RED: '), notRun: linesOf('NOT RUN') };
}

const others = 18; // passed in the nine other suites

test.each([
  ['is green', `echo '3 passed, 0 failed'`, [], others + 3, 0],
  ['fails', `echo '3 passed, 2 failed'; exit 1`, ['RED: npm test -- docker'], others + 3, 2],
  [
    'counts green and ends with an error',
    `echo '3 passed, 0 failed'; exit 3`,
    ['RED: npm test -- docker'],
    others + 3,
    1,
  ],
  [
    'counts a failure and ends without an error',
    `echo '3 passed, 1 failed'`,
    ['RED: npm test -- docker'],
    others + 3,
    1,
  ],
  ['runs nothing', `echo '0 passed, 0 failed'`, ['RED: npm test -- docker'], others, 1],
  ['counts nothing', 'echo fine', ['RED: npm test -- docker'], others, 1],
])('the last line of .ci/run counts a suite that %s', (_name, command, red, passed, failed) => {
  const run = runCi(command);
  expect(run.red).toEqual(red);
  expect(run.last).toBe(`${passed} passed, ${failed} failed`);
  expect(run.status === 0).toBe(failed === 0);
});

test('without containers .ci/run leaves out what needs them, and says so', () => {
  const { notRun, ...run } = runCi('echo 0 passed, 0 failed', { DOCKER_TESTS: 'off' });
  expect(run).toEqual({ status: 0, last: `${others - 2} passed, 0 failed`, red: [] });
  expect(notRun).toEqual(['NOT RUN, because DOCKER_TESTS=off: docker, release']);
});
