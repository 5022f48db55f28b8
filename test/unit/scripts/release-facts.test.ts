import { spawnSync } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ownerOfTree, publication, publicationSentences } from '../../../scripts/generate/publication.ts';
import {
  missingNotes,
  releaseFacts,
  unpinnedBases,
  untrueWords,
  versionConflicts,
} from '../../../scripts/release/release-facts.ts';

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

test('a version that is begun on top of CHANGELOG.md is not compared, once another is released', () => {
  const begun = (released: string) => (name: string) =>
    name === 'CHANGELOG.md' ? `## 99.0.0 (unreleased)\n\n## ${released} (2027-01-31)\n` : read(name);
  expect(versionConflicts(version, begun(version))).toEqual([]);
  expect(versionConflicts(version, begun('9.9.9'))).toEqual([
    expect.stringMatching(/^CHANGELOG\.md.*: 9\.9\.9 instead of/),
  ]);
});

describe('what a stranger reads', () => {
  const wordsIn = (path: string, text: string) => untrueWords('Some/responses-extproc', [path], () => text);

  test.each([
    ['README.md', '**Status: 1.0.0, not published yet.**', 'not published'],
    ['README.md', 'Once it is published, `npx` does it.', 'Once it is published'],
    ['CHANGELOG.md', 'It has not been published yet.', 'not been published'],
    ['CHANGELOG.md', '## 1.0.0 (unreleased)', 'unreleased'],
    ['SECURITY.md', 'cosign verify ghcr.io/OWNER/responses-extproc', 'OWNER'],
    ['.github/CODEOWNERS', '* @MAINTAINER', 'MAINTAINER'],
    ['.github/CODEOWNERS', '* @responses-extproc/maintainers', '@responses-extproc/maintainers'],
    ['docs/usage.md', 'TBD', 'TBD'],
    ['README.md', 'https://github.com/other/responses-extproc/issues', 'github.com/other/responses-extproc'],
  ])('%s with `%s` is refused', (path, text, words) => {
    expect(wordsIn(path, text)).toEqual([expect.stringContaining(`${path}: “${words}”`)]);
  });

  test.each([
    ...[
      'README.md',
      'docs/kubernetes.md',
      'docs/monitoring/alerts.yaml',
      '.github/CODEOWNERS',
      'Dockerfile',
      'package.json',
    ],
    ...['deploy/chart/values.yaml', 'deploy/chart/templates/NOTES.txt', 'envoy/service.yaml', 'mesh/usage.txt'],
  ])('%s is read', (path) => {
    const others = untrueWords('Some/responses-extproc', undefined, (name) =>
      name === path ? 'https://github.com/other/responses-extproc' : '',
    );
    expect(others).toEqual([expect.stringContaining(`${path}: “github.com/other/responses-extproc”`)]);
  });

  test('the repository by its own name, a team of its owner, and what others publish are not refused', () => {
    expect(wordsIn('.github/CODEOWNERS', '* @some/maintainers @somebody')).toEqual([]);
    expect(wordsIn('README.md', 'ghcr.io/some/responses-extproc, github.com/vllm-project/vllm, published')).toEqual([]);
  });

  test('of this tree nothing is refused but what scripts/release/prepare-release.ts writes', () => {
    const words = untrueWords(`${ownerOfTree()}/responses-extproc`).filter(
      (line) => !/“(?:OWNER|MAINTAINER)”/.test(line),
    );
    const turnOver = ['CHANGELOG.md', ...Object.keys(publication.files())];
    expect(words.filter((line) => !turnOver.includes(line.split(': ')[0] ?? ''))).toEqual([]);
  });
});

test('the sentences about publication turn over with the heading of the changelog', () => {
  const status = (...headings: string[]) =>
    publicationSentences(headings.map((one) => `## ${one}\n`).join('\n'), 'Some-Owner');
  expect(status('1.0.0-rc.1 (unreleased)').status).toContain('**Status: 1.0.0-rc.1, not published yet.**');
  expect(status('1.0.0-rc.1 (unreleased)').npx).toMatch(/^Once it is published, `npx responses-extproc try`/);
  expect(status('1.0.0-rc.1 (2027-01-31)').status).toContain('**Status: 1.0.0-rc.1 of 2027-01-31.**');
  expect(status('1.0.0-rc.1 (2027-01-31)').npx).toMatch(/^`npx responses-extproc@next try`/);
  expect(status('1.0.1 (unreleased)', '1.0.0 (2027-01-31)').status).toContain('**Status: 1.0.1, after 1.0.0.**');
  expect(status('1.0.1 (unreleased)', '1.0.0 (2027-01-31)').npx).toMatch(/^`npx responses-extproc try`/);
  const { image, chart } = status('1.0.1 (unreleased)', '1.0.0 (2027-01-31)');
  expect(image).toContain('The image of 1.0.0 is `ghcr.io/some-owner/responses-extproc:1.0.0`');
  expect(chart).toContain('The chart of 1.0.0 is `oci://ghcr.io/some-owner/charts/responses-extproc --version 1.0.0`');
  for (const name of ['image', 'chart'] as const)
    expect(status('1.0.0-rc.1 (unreleased)')[name]).toMatch(/^Once it is published, the /);
});

describe('what the image and the Compose files are built from', () => {
  const pinned = `node:24@sha256:${'0'.repeat(64)}`;
  const file = {
    Dockerfile: `ARG NODE_BUILD_IMAGE=${pinned}\n`,
    'docker-compose.yml': `image: \${A_IMAGE:-a:local}\n`,
  };
  const told = (changed: Partial<typeof file>) => {
    const files: Readonly<Record<string, string>> = { ...file, ...changed };
    return unpinnedBases(Object.keys(files), (path) => files[path] ?? '');
  };

  test('a base without a digest is refused, in a Compose file as in the Dockerfile', () => {
    expect(told({})).toEqual([]);
    const remedy = 'has no digest: write it behind the tag (RELEASING.md, “Pin the base images”)';
    expect(told({ Dockerfile: 'ARG NODE_RUNTIME_IMAGE=node:24\n' })).toEqual([
      `Dockerfile, NODE_RUNTIME_IMAGE: node:24 ${remedy}`,
    ]);
    expect(told({ 'docker-compose.yml': `FROM \${PYTHON_IMAGE:-python:3.13}\n` })).toEqual([
      `docker-compose.yml, PYTHON_IMAGE: python:3.13 ${remedy}`,
    ]);
  });

  test('two files that differ are refused; those of this tree do not', () => {
    expect(told({ 'docker-compose.yml': `image: \${NODE_BUILD_IMAGE:-${pinned.replace('24', '26')}}\n` })).toEqual([
      `docker-compose.yml, NODE_BUILD_IMAGE: ${pinned.replace('24', '26')}, where another file has ${pinned}`,
    ]);
    expect(unpinnedBases().filter((fault) => fault.includes('another file'))).toEqual([]);
  });

  test('Renovate’s own pattern finds each base of the Compose files, and what it writes is pinned', () => {
    const { customManagers } = JSON.parse(read('renovate.json')) as {
      customManagers?: readonly [{ matchStrings: readonly [string]; autoReplaceStringTemplate: string }];
    };
    const [{ matchStrings, autoReplaceStringTemplate: template }] = customManagers ?? [
      { matchStrings: ['(?!)'], autoReplaceStringTemplate: '' },
    ];
    const written = template
      .replaceAll(/\{\{(?:#if newDigest|\/if)\}\}/g, '')
      .replace('{{{depName}}}', '$<depName>')
      .replace('{{{newValue}}}', '$<currentValue>')
      .replace('{{{newDigest}}}', `sha256:${'0'.repeat(64)}`);
    const pin = (text: string) => text.replaceAll(new RegExp(matchStrings[0], 'g'), written);
    const compose = globSync('docker-compose*.yml', { cwd: root });
    expect(compose.length).toBeGreaterThan(1);
    expect(unpinnedBases(compose, (path) => pin(read(path)))).toEqual([]);
    const [path = ''] = compose;
    expect(pin(pin(read(path)))).toBe(pin(read(path)));
  });

  test.each([
    ['where the registry answers, the pinned images are taken', 'exit 0', pinned],
    ['where it does not, stand-ins have their names without a digest', 'exit 1', 'node:24'],
  ])('%s', (_what, docker, image) => {
    const folder = mkdtempSync(join(tmpdir(), 'responses-extproc-bases-'));
    try {
      writeFileSync(join(folder, 'docker'), `#!/bin/sh\n${docker}\n`, { mode: 0o755 });
      const names = ['NODE_BUILD_IMAGE', 'NODE_RUNTIME_IMAGE', 'ENVOY_IMAGE'];
      const compose = names.map((name) => `image: \${${name}:-${pinned}}\n`).join('');
      writeFileSync(join(folder, 'docker-compose.yml'), compose);
      const program = `source "$0" && env | grep _IMAGE= | sort`;
      const { stdout } = spawnSync('bash', ['-c', program, join(root, 'scripts/containers/base-images.sh')], {
        ...{ cwd: folder, encoding: 'utf8', env: { PATH: `${folder}:${process.env['PATH']}` } },
      });
      expect(stdout.trim().split('\n')).toEqual(names.toSorted().map((name) => `${name}=${image}`));
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

test('the notes of a release are what CHANGELOG.md says of its version, and an unknown version fails', () => {
  const notes = (of: string) => spawnSync(join(root, 'scripts/release/release-notes.sh'), [of], { encoding: 'utf8' });
  expect(notes(version)).toMatchObject({ status: 0, stdout: expect.stringContaining('- ') });
  expect(notes('99.0.0')).toMatchObject({ status: 1, stdout: '' });
  expect(missingNotes(version)).toEqual([]);
  expect(missingNotes('99.0.0')).toEqual(['CHANGELOG.md: no words in a section ## 99.0.0']);
});
