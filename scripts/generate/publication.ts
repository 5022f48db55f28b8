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

/** What README.md says of it. Throws when CHANGELOG.md has no version. */
export function publicationSentences(changelog: string): { status: string; npx: string } {
  const [newest, ...former] = readVersions(changelog);
  if (newest === undefined) throw new Error('CHANGELOG.md has no heading such as ## 1.2.3 (2027-01-31).');
  const last = newest.date === null ? former.find(({ date }) => date !== null) : newest;
  const becomes = last === undefined ? ', not published yet' : `, after ${last.version}`;
  const status = `${newest.version}${newest.date === null ? becomes : ` of ${newest.date}`}`;
  const command = `\`${npxCommand(last?.version ?? '')} try\``;
  return {
    status: `**Status: ${status}.** What stays as it is: [compatibility](docs/compatibility.md).`,
    npx: `${last === undefined ? 'Once it is published, ' : ''}${command} does the same in any folder, without a clone.`,
  };
}

export const publication: Generator = {
  name: 'whether this version is published',
  source: 'CHANGELOG.md',
  files: () => documentsWith({ 'README.md': publicationSentences(textOf('CHANGELOG.md')) }),
};
