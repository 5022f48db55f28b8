/**
 * `node scripts/release/prepare-release.ts 1.2.3 Owner Login`: makes this tree the one that is tagged. The version goes into every file
 * that names it, the first section of CHANGELOG.md gets today's date, and `OWNER` and `MAINTAINER` become the owner of the
 * repository and whoever reviews. RELEASING.md has what comes before and after.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { releaseFacts } from './release-facts.ts';

const root = process.cwd();

/** The text of a file with the parts replaced. Throws when one is not there. */
function replace(path: string, ...parts: readonly (readonly [part: RegExp, by: string])[]): void {
  const file = join(root, path);
  let text = readFileSync(file, 'utf8');
  for (const [part, by] of parts) {
    if (!part.test(text)) throw new Error(`${path} has no ${part.source}: was it prepared before?`);
    text = text.replace(part, by);
  }
  writeFileSync(file, text);
}

const [, , version = '', owner = '', login = ''] = process.argv;
releaseFacts(`v${version}`, `${owner}/responses-extproc`);
if (!/^[\w-]+$/.test(owner) || !/^[\w-]+$/.test(login)) {
  console.error('Usage: node scripts/release/prepare-release.ts VERSION OWNER LOGIN');
  process.exit(2);
}

replace('CHANGELOG.md', [/^## \S+ \(unreleased\)$/m, `## ${version} (${new Date().toISOString().slice(0, 10)})`]);
replace('package.json', [/^ {2}"version": ".*"/m, `  "version": "${version}"`]);
const own = /("name": "responses-extproc",\s+"version": )"[^"]*"/;
replace(
  'package-lock.json',
  [own, `$1"${version}"`],
  [new RegExp(`("packages": \\{\\s+"": \\{\\s+)${own.source}`), `$1$2"${version}"`],
);
replace(
  'deploy/chart/Chart.yaml',
  [/^version: .*$/m, `version: ${version}`],
  [/^appVersion: .*$/m, `appVersion: ${version}`],
);
replace('docs/images/terminal.svg', [/(responses-extproc@)\S+( start)/, `$1${version}$2`]);
replace('Dockerfile', [/^ARG VERSION=.*$/m, `ARG VERSION=${version}`]);

const names = { OWNER: owner, MAINTAINER: login };
const found = spawnSync(
  'git',
  ['grep', '-lwE', 'OWNER|MAINTAINER', '--', '.', ':!scripts/*.ts', ':!RELEASING.md', ':!test/unit'],
  {
    cwd: root,
    encoding: 'utf8',
  },
);
for (const path of found.stdout.split('\n').filter((line) => line !== ''))
  writeFileSync(
    join(root, path),
    readFileSync(join(root, path), 'utf8')
      .replaceAll('ghcr.io/OWNER/', `ghcr.io/${owner.toLowerCase()}/`) // a registry of images refuses upper case
      .replace(/\b(?:OWNER|MAINTAINER)\b/g, (name) => names[name as keyof typeof names]),
  );
execFileSync('node', ['scripts/generate/generate.ts'], { cwd: root, stdio: 'inherit' });
