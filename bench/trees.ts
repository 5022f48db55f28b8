import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { ownRoot } from './contenders.ts';

/** The files of one commit, built. */
export interface Tree {
  /** Its name in tables. */
  readonly name: string;
  readonly root: string;
}

/** Builds this tree as it is now. Throws when the build fails. */
export function buildOwnTree(): Tree {
  npm(ownRoot, ['run', 'build', '--silent']);
  return { name: 'work tree', root: ownRoot };
}

/**
 * Checks a commit out below `.cache`, with this tree's packages if its lock file is the same, otherwise with its
 * own, and builds it. The files are removed when this process exits. Throws when git knows no such commit, when its packages
 * cannot be installed and when its build fails.
 */
export function checkOut(ref: string, note: (line: string) => void): Tree {
  const commit = git(ownRoot, ['rev-parse', '--verify', '--quiet', '--end-of-options', `${ref}^{commit}`]);
  if (commit === null) throw new Error(`git knows no commit "${ref}".`);
  const name = ref === commit ? commit.slice(0, 10) : `${ref} (${commit.slice(0, 10)})`;
  const root = join(ownRoot, '.cache', `compare-${commit.slice(0, 10)}-${process.pid}`);
  mkdirSync(join(ownRoot, '.cache'), { recursive: true });
  process.once('exit', () => remove(root));
  if (git(ownRoot, ['worktree', 'add', '--detach', '--quiet', root, commit]) === null)
    throw new Error(`git could not check out ${name} into ${root}.`);
  const [lock, ownLock] = [root, ownRoot].map((folder) => readFileSync(join(folder, 'package-lock.json'), 'utf8'));
  if (lock === ownLock) symlinkSync(join(ownRoot, 'node_modules'), join(root, 'node_modules'));
  else {
    note(`${name} has other packages: npm ci …`);
    npm(root, ['ci', '--include=dev', '--no-audit', '--no-fund', '--loglevel=error']);
  }
  note(`building ${name} …`);
  npm(root, ['run', 'build', '--silent']);
  return { name, root };
}

/** The files that measure the CPU time of the pure core. */
const microFiles = ['micro.ts', 'fixtures.ts', 'table.ts'];

/**
 * Copies this tree's micro benchmark into another tree, so that a change to the benchmark is not a difference between the
 * two. False if it does not fit the other sources (a function has another name there): then there is nothing to compare.
 */
export function shareMicro({ root, name }: Tree, note: (line: string) => void): boolean {
  for (const file of microFiles) cpSync(join(ownRoot, 'bench', file), join(root, 'bench', file));
  const trial = spawnSync(process.execPath, [join(root, 'bench/micro.ts'), '--ms', '1'], { encoding: 'utf8' });
  if (trial.status === 0) return true;
  note(`micro and exchange are left out: ${name} does not run this tree's bench/micro.ts: ${lastLine(trial.stderr)}`);
  return false;
}

function lastLine(text: string): string {
  return /\w*Error(?: \[\w+\])?: .*/.exec(text)?.[0] ?? text.trim().slice(-200);
}

function remove(root: string): void {
  // git forgets the work tree and deletes most of it; rmSync deletes what is left, such as a half-made checkout.
  git(ownRoot, ['worktree', 'remove', '--force', root]);
  rmSync(root, { recursive: true, force: true });
  git(ownRoot, ['worktree', 'prune']);
}

/** Standard output of git; null when it fails. */
function git(folder: string, args: readonly string[]): string | null {
  const { status, stdout } = spawnSync('git', ['-C', folder, ...args], { encoding: 'utf8' });
  return status === 0 ? stdout.trim() : null;
}

function npm(root: string, args: readonly string[]): void {
  // Its output goes to standard error: standard output is for tables.
  const { status, error } = spawnSync('npm', args, { cwd: root, stdio: ['ignore', 2, 2] });
  if (status !== 0) throw new Error(`npm ${args.join(' ')} failed in ${root}${error ? `: ${error.message}` : ''}.`);
}
