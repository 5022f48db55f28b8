/**
 * What a release is called, of its tag: `node scripts/release-facts.ts v1.2.3 Owner/Repository` prints lines for a workflow's
 * output. Fails where package.json, the lock file, the chart, the Dockerfile or CHANGELOG.md have another version.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');

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

/** The files that name another version than `version`, each as a sentence. `read` gives the text of a file of the repository. */
export function versionConflicts(
  version: string,
  read = (path: string) => readFileSync(join(root, path), 'utf8'),
): string[] {
  const heading = `## ${version}`;
  const places: readonly [path: string, found: string | undefined][] = [
    ['package.json', JSON.parse(read('package.json')).version],
    ['package-lock.json', JSON.parse(read('package-lock.json')).version],
    ['deploy/chart/Chart.yaml, version', /^version: (\S+)$/m.exec(read('deploy/chart/Chart.yaml'))?.[1]],
    ['deploy/chart/Chart.yaml, appVersion', /^appVersion: "?([^"\s]+)"?$/m.exec(read('deploy/chart/Chart.yaml'))?.[1]],
    ['Dockerfile', /^ARG VERSION=(\S+)$/m.exec(read('Dockerfile'))?.[1]],
    ['CHANGELOG.md, first section', /^## (\S+)/m.exec(read('CHANGELOG.md'))?.[1]],
  ];
  return places
    .filter(([, found]) => found !== version)
    .map(
      ([path, found]) =>
        `${path}: ${found ?? 'no version'} instead of ${path.startsWith('CHANGELOG') ? heading : version}`,
    );
}

if (import.meta.main) {
  const [, , tag = '', repository = ''] = process.argv;
  const facts = releaseFacts(tag, repository);
  const conflicts = versionConflicts(facts.version);
  if (conflicts.length > 0) {
    console.error(conflicts.join('\n'));
    process.exit(1);
  }
  for (const [name, value] of Object.entries(facts)) console.log(`${name}=${value}`);
}
