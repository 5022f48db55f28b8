import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { releaseFacts, versionConflicts } from '../../../scripts/release-facts.ts';

const root = join(import.meta.dirname, '../../..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const { version } = JSON.parse(read('package.json'));

describe('what a release is called', () => {
  test('a release is `latest`, as image and on npm', () => {
    expect(releaseFacts('v1.2.3', 'owner/name')).toEqual({
      version: '1.2.3',
      image: 'ghcr.io/owner/name',
      image_tags: 'ghcr.io/owner/name:1.2.3,ghcr.io/owner/name:latest',
      charts: 'oci://ghcr.io/owner/charts',
      npm_tag: 'latest',
      prerelease: false,
    });
  });

  test('a candidate is `next` on npm, and no image `latest`', () => {
    const facts = releaseFacts('v1.0.0-rc.1', 'owner/name');
    expect(facts).toMatchObject({ version: '1.0.0-rc.1', npm_tag: 'next', prerelease: true });
    expect(facts.image_tags).toBe('ghcr.io/owner/name:1.0.0-rc.1');
  });

  test('names of images are in lower case, whatever the repository is called', () => {
    const facts = releaseFacts('v1.2.3', 'Some-Owner/Responses-ExtProc');
    expect(facts.image).toBe('ghcr.io/some-owner/responses-extproc');
    expect(facts.charts).toBe('oci://ghcr.io/some-owner/charts');
  });

  test.each(['1.2.3', 'v1.2', 'v1.2.3-RC 1', 'vnext'])('the tag %s is refused', (tag) => {
    expect(() => releaseFacts(tag, 'owner/name')).toThrow(`The tag ${tag} is no version`);
  });
});

describe('versions of the repository', () => {
  test('every file has the same one', () => {
    expect(versionConflicts(version)).toEqual([]);
  });

  test.each([
    ['package.json', `"version": "${version}"`],
    ['package-lock.json', `"version": "${version}"`],
    ['deploy/chart/Chart.yaml', `\nversion: ${version}`],
    ['deploy/chart/Chart.yaml', `\nappVersion: ${version}`],
    ['Dockerfile', `ARG VERSION=${version}`],
    ['CHANGELOG.md', `## ${version}`],
  ])('another one in %s is told with its file', (path, line) => {
    const changed = (name: string) =>
      name === path ? read(name).replace(line, line.replace(version, '9.9.9')) : read(name);
    expect(versionConflicts(version, changed)).toEqual([
      expect.stringMatching(new RegExp(`^${path}.*: 9.9.9 instead of`)),
    ]);
  });
});

test('the notes of a release are what CHANGELOG.md says of its version, and an unknown version fails', () => {
  const notes = (of: string) => spawnSync(join(root, 'scripts/release-notes.sh'), [of], { encoding: 'utf8' });
  expect(notes(version)).toMatchObject({ status: 0, stdout: expect.stringContaining('- ') });
  expect(notes('99.0.0')).toMatchObject({ status: 1, stdout: '' });
});
