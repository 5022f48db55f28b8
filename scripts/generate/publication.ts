/**
 * Whether this version is published: its heading in CHANGELOG.md alone says it. `(unreleased)` becomes the date on the day, by
 * scripts/release/prepare-release.ts, and every sentence about it turns over with `npm run generate`.
 */
import { documentsWith, type Generator, textOf } from './generator.ts';

/** The versions of CHANGELOG.md, the newest first, each with its date; null before its day. */
export function readVersions(changelog: string): { version: string; date: string | null }[] {
  return [...changelog.matchAll(/^## (\d\S*) \((\S+)\)$/gm)].map(([, version = '', date = '']) => ({
    version,
    date: date === 'unreleased' ? null : date,
  }));
}

/** How npx is told to run a version: without a tag it takes the last release, and a candidate is `next`. */
export function npxCommand(version: string): string {
  return `npx responses-extproc${version.includes('-') ? '@next' : ''}`;
}

/** The owner of the repository as this tree names it: `OWNER` until scripts/release/prepare-release.ts has written another. */
export function ownerOfTree(): string {
  const home = /^home: https:\/\/github\.com\/([\w-]+)\//m.exec(textOf('deploy/chart/Chart.yaml'));
  if (home?.[1] === undefined) throw new Error('deploy/chart/Chart.yaml has no home: on GitHub.');
  return home[1];
}

/** What pages say of it: README.md, and those that say how to run an image or the chart. Throws when CHANGELOG.md has no version. */
export function publicationSentences(changelog: string, owner = ownerOfTree()) {
  const [newest, ...former] = readVersions(changelog);
  if (newest === undefined) throw new Error('CHANGELOG.md has no heading such as ## 1.2.3 (2027-01-31).');
  const last = newest.date === null ? former.find(({ date }) => date !== null) : newest;
  const becomes = last === undefined ? ', not published yet' : `, after ${last.version}`;
  const status = `${newest.version}${newest.date === null ? becomes : ` of ${newest.date}`}`;
  // A registry of images refuses upper case, but OWNER is no name yet.
  const registry = `ghcr.io/${owner === 'OWNER' ? owner : owner.toLowerCase()}`;
  const [the, of, version] =
    last === undefined ? ['Once it is published, the', '', 'VERSION'] : ['The', ` of ${last.version}`, last.version];
  const signed = '[signed](../SECURITY.md#checking-a-release)';
  const command = `\`${npxCommand(last?.version ?? '')} try\``;
  return {
    status: `**Status: ${status}.** What stays as it is: [compatibility](docs/compatibility.md).`,
    image: `${the} image${of} is \`${registry}/responses-extproc:${version}\`. It is ${signed}.`,
    chart: `${the} chart${of} is \`oci://${registry}/charts/responses-extproc --version ${version}\`. It names its image, so that step 2 and \`image.repository\` are not needed, and is ${signed}.`,
    npx: `${last === undefined ? 'Once it is published, ' : ''}${command} does the same in any folder, without a clone.`,
  };
}

export const publication: Generator = {
  name: 'whether this version is published',
  source: 'CHANGELOG.md',
  files: () => {
    const { image, chart, ...inReadme } = publicationSentences(textOf('CHANGELOG.md'));
    return documentsWith({
      'README.md': inReadme,
      'docs/operating.md': { 'published image': image },
      'docs/kubernetes.md': { 'published chart': chart },
    });
  },
};
