/**
 * What a release is called, of its tag: `node scripts/release/release-facts.ts v1.2.3 Owner/Repository` prints lines for a workflow's
 * output. Fails where a file has another version, where a stranger would read something that is not true once it is public, where
 * the image's bases are not pinned, and where a suite last ran before what it tests changed. RELEASING.md says what to do.
 */
import { spawnSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readVersions } from '../generate/publication.ts';
import { blockingRuns } from '../tests/suites.ts';

const root = join(import.meta.dirname, '../..');

/** Names under which a release is published. Each is the value of an output of release.yml's job `version`. */
export interface ReleaseFacts {
  readonly version: string;
  /** Lower case, since a registry of images refuses any other. */
  readonly image: string;
  /** All tags of the image, with a comma between. `latest` only for what is not a candidate. */
  readonly image_tags: string;
  /** Where the chart is pushed to. */
  readonly charts: string;
  /** The npm distribution tag: `next` for a candidate, so that `npm install` still gives the last release. */
  readonly npm_tag: 'latest' | 'next';
  readonly prerelease: boolean;
}

/** The facts of a tag (`v1.2.3`, `v1.2.3-rc.1`) in a repository (`Owner/Name`). Throws when `tag` is no version. */
export function releaseFacts(tag: string, repository: string): ReleaseFacts {
  const version = /^v(\d+\.\d+\.\d+(?:-[0-9a-z.-]+)?)$/.exec(tag)?.[1];
  if (version === undefined) throw new Error(`The tag ${tag} is no version: v1.2.3, or v1.2.3-rc.1.`);
  const prerelease = version.includes('-');
  const image = `ghcr.io/${repository.toLowerCase()}`;
  return {
    version,
    image,
    image_tags: [version, ...(prerelease ? [] : ['latest'])].map((name) => `${image}:${name}`).join(','),
    charts: `oci://ghcr.io/${repository.toLowerCase().replace(/\/.*/, '')}/charts`,
    npm_tag: prerelease ? 'next' : 'latest',
    prerelease,
  };
}

/**
 * The files that name another version than `version`, each as a sentence. `read` gives the text of a file of the repository. A section
 * that CHANGELOG.md has begun for the next version does not count once a former one is released: the other files keep that until the day.
 */
export function versionConflicts(
  version: string,
  read = (path: string) => readFileSync(join(root, path), 'utf8'),
): string[] {
  const heading = `## ${version}`;
  const versions = readVersions(read('CHANGELOG.md'));
  const last = versions.find(({ date }) => date !== null) ?? versions[0];
  const places: readonly [path: string, found: string | undefined][] = [
    ['package.json', JSON.parse(read('package.json')).version],
    ['package-lock.json', JSON.parse(read('package-lock.json')).version],
    ['deploy/chart/Chart.yaml, version', /^version: (\S+)$/m.exec(read('deploy/chart/Chart.yaml'))?.[1]],
    ['deploy/chart/Chart.yaml, appVersion', /^appVersion: "?([^"\s]+)"?$/m.exec(read('deploy/chart/Chart.yaml'))?.[1]],
    ['Dockerfile', /^ARG VERSION=(\S+)$/m.exec(read('Dockerfile'))?.[1]],
    ['CHANGELOG.md, last release', last?.version],
  ];
  return places
    .filter(([, found]) => found !== version)
    .map(
      ([path, found]) =>
        `${path}: ${found ?? 'no version'} instead of ${path.startsWith('CHANGELOG') ? heading : version}`,
    );
}

/** The files that strangers read: pages, forms, what a registry shows. RELEASING.md is for the person who publishes. */
function filesForStrangers(): string[] {
  const patterns = ['*.md', 'docs/**/*.{md,yaml}', 'deploy/**/*.{md,yaml,txt}', 'envoy/**/*.{md,yaml}', 'mesh/*.txt'];
  const forms = [
    '.github/CODEOWNERS',
    '.github/**/*.{md,yml}',
    'Dockerfile',
    'package.json',
    'scripts/release/npm-readme.md',
  ];
  return globSync([...patterns, ...forms], { cwd: root }).filter((path) => path !== 'RELEASING.md');
}

/** What must not be in them, each with what is to be done. */
const untrue: readonly (readonly [pattern: RegExp, remedy: string])[] = [
  [/\b(?:OWNER|MAINTAINER)\b/, 'scripts/release/prepare-release.ts writes the name'],
  [/\bunreleased\b|\bnot (?:yet )?(?:been )?published\b|\b[Oo]nce it is published\b/i, 'it is published by this tag'],
  [/\b(?:TODO|TBD|FIXME|PLACEHOLDER|CHANGEME)\b/, 'a placeholder'],
];

/**
 * What a stranger would read that is not true in `repository` (`Owner/Name`), each as a sentence with its file: that nothing is
 * published, a placeholder, another owner's address, a team of another owner.
 */
export function untrueWords(
  repository: string,
  files: readonly string[] = filesForStrangers(),
  read = (path: string) => readFileSync(join(root, path), 'utf8'),
): string[] {
  const [owner = '', name = ''] = repository.toLowerCase().split('/');
  return files.flatMap((path) => {
    const text = read(path);
    const words = untrue.flatMap(([pattern, remedy]) => {
      const found = pattern.exec(text)?.[0];
      return found === undefined ? [] : [`${path}: “${found}”: ${remedy}`];
    });
    const others = [
      ...text.matchAll(/\b(?:github\.com|githubusercontent\.com|ghcr\.io)\/([\w-]+)\/([\w.-]+)/g),
      ...(path.endsWith('CODEOWNERS') ? text.matchAll(/@([\w-]+)\/([\w-]+)/g) : []),
    ].filter(([address, of = '', what = '']) => {
      const isOurs = address.startsWith('@') || what.toLowerCase() === name;
      return isOurs && of !== 'OWNER' && of.toLowerCase() !== owner;
    });
    return [...words, ...others.map(([address]) => `${path}: “${address}”: the tag is in ${repository}`)];
  });
}

/** What the image and the Compose files are built from or run: those that are not pinned by digest, or differ, each as a sentence. */
export function unpinnedBases(
  files: readonly string[] = globSync(['Dockerfile', 'docker-compose*.yml'], { cwd: root }),
  read = (path: string) => readFileSync(join(root, path), 'utf8'),
): string[] {
  const known = new Map<string, string>();
  return files.toSorted().flatMap((path) => {
    const bases = [...read(path).matchAll(/(?:^ARG (?=\w+_IMAGE=)|\$\{)(\w+_IMAGE)(?:=|:-)([^}\s]+)/gm)];
    const others = bases.filter(([, , image = '']) => !image.endsWith(':local')); // that is what these files build
    return others.flatMap(([, name = '', image = '']) => {
      const first = known.get(name) ?? image;
      known.set(name, first);
      if (image !== first) return [`${path}, ${name}: ${image}, where another file has ${first}`];
      if (/@sha256:[0-9a-f]{64}$/.test(image)) return [];
      return [
        `${path}, ${name}: ${image} has no digest: write it behind the tag (RELEASING.md, “Pin the base images”)`,
      ];
    });
  });
}

/** Why the release would have no notes, as a sentence; none where its section of CHANGELOG.md has words. */
export function missingNotes(version: string): string[] {
  const { status, stderr } = spawnSync(join(import.meta.dirname, 'release-notes.sh'), [version], { encoding: 'utf8' });
  return status === 0 ? [] : [stderr.trim()];
}

if (import.meta.main) {
  const [, , tag = '', repository = ''] = process.argv;
  const facts = releaseFacts(tag, repository);
  const conflicts = [
    ...versionConflicts(facts.version),
    ...untrueWords(repository),
    ...missingNotes(facts.version),
    ...unpinnedBases(),
    ...blockingRuns().map((suite) => `test/last-runs.json: ${suite}: npm test -- nightly`),
  ];
  if (conflicts.length > 0) {
    console.error(conflicts.join('\n'));
    process.exit(1);
  }
  for (const [name, value] of Object.entries(facts)) console.log(`${name}=${value}`);
}
