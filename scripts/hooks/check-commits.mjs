#!/usr/bin/env node
/**
 * Do commit messages follow CONTRIBUTING.md? `node scripts/hooks/check-commits.mjs main..HEAD` looks at a range (CI does);
 * as the hook `commit-msg` (`git config core.hooksPath scripts/hooks`) it gets the file of one message. Plain JavaScript, since
 * a hook runs with any Node that is installed.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';

/** Words in a subject that claim to be faster or smaller. */
const claim =
  /\b(faster|quicker|speed(s|ed)? up|cheaper|less (CPU|memory|time)|fewer allocations|half the (CPU|memory|time))\b/i;
/** A row of the table that `npm run bench -- --compare` prints. */
const measured = /^.*\d.*\bbetter\b.*$/m;
/** Commits without a body that were on main before this check: published history is not rewritten. */
const passed = ['095e247', '2edcf2c', '58846ab', '6f1f39e', 'c39568f', 'd033373'];
const trailer = /^[A-Z][\w-]+: .*$/gm;

/** What is wrong with a message; an empty list for a good one. Merges and reverts are git's own words. */
export function problemsOf(message) {
  const [subject = '', ...rest] = message
    .replace(/^#.*\n?/gm, '')
    .trim()
    .split('\n');
  if (/^(Merge|Revert|fixup!|squash!) ?/.test(subject)) return [];
  const body = rest.join('\n').replace(trailer, '').trim();
  const problems = [];
  if (!/^[^:]{2,60}: \S/.test(subject)) problems.push('the subject is not “part: what changes”');
  if (subject.length > 72)
    problems.push(`the subject has ${subject.length} characters; git and GitHub cut it after 72`);
  if (body.length < 20) problems.push('there is no body that says why, and what was seen');
  if (claim.test(subject) && !/^(docs|tests?|bench)\b/.test(subject) && !measured.test(body))
    problems.push(
      'the subject claims speed: put the table of npm run bench -- --compare main into the body, with a figure that is better',
    );
  return problems;
}

if (import.meta.filename === process.argv[1]) {
  const given = process.argv[2] ?? 'main..HEAD';
  const isFile = statSync(given, { throwIfNoEntry: false })?.isFile() === true;
  const messages = isFile ? [['this commit', readFileSync(given, 'utf8')]] : commitsOf(given);
  let wrong = 0;
  for (const [name, message] of messages) {
    const problems = problemsOf(message);
    if (problems.length === 0) continue;
    wrong += 1;
    console.error(`${name}: ${message.split('\n', 1)[0]}\n  ${problems.join('\n  ')}`);
  }
  if (wrong > 0) console.error('CONTRIBUTING.md, “Commits”, says how they are written.');
  else if (!isFile) console.log(`${messages.length} commits of ${given} are well written.`);
  process.exitCode = wrong === 0 ? 0 : 1;
}

/** Hash and message of each commit. A first push of a branch has a base of zeros, which no clone knows: then the last commit. */
function commitsOf(range) {
  const given = /^0+\.\./.test(range) ? ['-1', range.replace(/^0+\.\./, '')] : [range];
  const { status, stdout, stderr } = spawnSync('git', ['log', '--format=%h%x00%B%x01', ...given], { encoding: 'utf8' });
  if (status !== 0) {
    console.error(stderr.trim());
    process.exit(2);
  }
  return stdout
    .split('\x01')
    .map((commit) => commit.trim())
    .filter((commit) => commit !== '')
    .map((commit) => commit.split('\0'))
    .filter(([hash]) => !passed.some((start) => hash.startsWith(start)));
}
