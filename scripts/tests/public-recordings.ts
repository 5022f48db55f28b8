/**
 * `node scripts/tests/public-recordings.ts` gets the public recordings that `test/public/recordings.test.ts` replays: answers of Chat
 * Completions servers that other projects recorded for their own tests. `test/public/repositories.json` names the commits; git
 * fetches their folders into `.cache/public-recordings`, and the answers in them are written there, one file of lines each.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { publicAnswersIn } from '../../test/support/public-answers.ts';

interface Repository {
  readonly repository: string;
  readonly commit: string;
  readonly licence: string;
  readonly folders: readonly string[];
}

const root = join(import.meta.dirname, '../..');
const cache = join(root, '.cache/public-recordings');
const repositories: readonly Repository[] = JSON.parse(
  readFileSync(join(root, 'test/public/repositories.json'), 'utf8'),
);

for (const { repository, commit, licence, folders } of repositories) {
  const name = basename(repository);
  const file = join(cache, `${name}-${commit.slice(0, 12)}.jsonl`);
  if (existsSync(file)) continue;
  const tree = join(cache, name);
  checkOut(tree, repository, commit, folders);
  const answers = folders.flatMap((folder) => filesOf(join(tree, folder))).flatMap((path) => readAnswers(tree, path));
  writeFileSync(`${file}.part`, answers.map((answer) => `${JSON.stringify({ ...answer, licence })}\n`).join(''));
  renameSync(`${file}.part`, file);
  rmSync(tree, { recursive: true });
  console.log(`${name}: ${answers.length} answers`);
}

/** Those folders of that commit and nothing else: some of these repositories are large. */
function checkOut(tree: string, repository: string, commit: string, folders: readonly string[]): void {
  rmSync(tree, { recursive: true, force: true });
  mkdirSync(tree, { recursive: true });
  const git = (...words: string[]) =>
    execFileSync('git', ['-C', tree, ...words], { stdio: ['ignore', 'ignore', 'inherit'] });
  git('init', '--quiet');
  git('remote', 'add', 'origin', repository);
  git('sparse-checkout', 'set', ...folders);
  git('fetch', '--quiet', '--depth=1', '--filter=blob:none', 'origin', commit);
  git('checkout', '--quiet', 'FETCH_HEAD');
}

function filesOf(folder: string): readonly string[] {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
    .toSorted();
}

function readAnswers(tree: string, path: string): ReturnType<typeof publicAnswersIn> {
  if (!/\.(ya?ml|json|sse|chunks\.txt)$/.test(path)) return [];
  return publicAnswersIn(path.slice(tree.length + 1), readFileSync(path, 'utf8'));
}
