import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '../../..');
const body = 'Clients saw two items where one was meant (issue 7).';
const speed = 'sse: a decoder that is faster';

/** What the hook says of a message, and its exit code. */
function check(message: string): { status: number | null; said: string } {
  const folder = mkdtempSync(join(tmpdir(), 'extproc-commit-'));
  try {
    const file = join(folder, 'COMMIT_EDITMSG');
    writeFileSync(file, message);
    const { status, stdout, stderr } = spawnSync(join(root, 'scripts/hooks/commit-msg'), [file], { encoding: 'utf8' });
    return { status, said: stdout + stderr };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

test.each([
  ['part and reason', `stream: close a call first\n\n${body}\n`],
  ['with git’s comments below', `stream: close a call first\n\n${body}\n# Changes to be committed:\n`],
  ['a merge', 'Merge branch main'],
  ['speed, measured', `${speed}\n\n| CPU of a token | 2.61 µs | 2.02 µs | better by 23 % |\n`],
  ['speed, in the docs', `docs/performance: which part is faster\n\n${body}`],
])('is content with %s', (_name, message) => {
  expect(check(message)).toEqual({ status: 0, said: '' });
});

test.each([
  ['no body', 'stream: close a call first\n', 'there is no body that says why'],
  ['only trailers', 'stream: close a call first\n\nSigned-off-by: A Person <a@example.com>\n', 'there is no body'],
  ['only comments of git', 'stream: close a call\n\n# Please enter the commit message for your changes.\n', 'no body'],
  ['a subject that is cut', `stream: ${'a'.repeat(65)}\n\n${body}`, 'the subject has 73 characters'],
  ['no part', `Fix a bug\n\n${body}`, 'the subject is not “part: what changes”'],
  ['speed without a figure', `${speed}\n\n${body}`, 'put the table of npm run bench -- --compare main into the body'],
])('refuses %s', (_name, message, problem) => {
  const { status, said } = check(message);
  expect(said).toContain(problem);
  expect(said).toContain('CONTRIBUTING.md');
  expect(status).toBe(1);
});

test('looks at a range, and says which commit it is', () => {
  const none = spawnSync(process.execPath, [join(root, 'scripts/hooks/check-commits.mjs'), 'nowhere..else'], {
    cwd: root,
    encoding: 'utf8',
  });
  expect(none.status).toBe(2);
  // What GitHub calls the commit before the first of a branch.
  const first = spawnSync(
    process.execPath,
    [join(root, 'scripts/hooks/check-commits.mjs'), `${'0'.repeat(40)}..HEAD`],
    {
      cwd: root,
      encoding: 'utf8',
    },
  );
  expect(`${first.stdout}${first.stderr}`).not.toContain('fatal');
  expect([0, 1]).toContain(first.status);
});
