import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { broken, namesInSources, readFrozen, unannounced } from '../../../scripts/generate/public-names.ts';

const upgrading = readFileSync(join(import.meta.dirname, '../../../docs/upgrading.md'), 'utf8');

test('no name or default that people rely on is gone or different', () => {
  expect(broken(readFrozen(), { ...readFrozen(), ...namesInSources() })).toEqual([]);
});

test('a new name is frozen too: npm run freeze', () => {
  const { log, metadata, explain, ...others } = readFrozen();
  expect(others).toEqual(namesInSources());
  // What only a running service shows, which a test of each compares.
  for (const section of [log, metadata, explain]) expect(section).toBeDefined();
});

test.each([
  ['settings', 'LISTEN'],
  ['metrics', 'responses_extproc_exchanges_total'],
  ['flags', 'includeUsage'],
  ['chart', 'gateway.create'],
  ['commands', 'responses-extproc try'],
  ['config', 'LOG_LEVEL'],
  ['log', 'outcome'],
])('in %s, %s that is gone or different is told with what to write', (section, name) => {
  const frozen = readFrozen();
  const { [name]: was, ...rest } = frozen[section] ?? {};
  expect(was).toBeDefined();
  expect(upgrading).not.toContain(`\`${name}\``);
  expect(broken(frozen, { ...frozen, [section]: rest })).toEqual([
    expect.stringMatching(
      `^${section}: ${name} is gone. .*CHANGELOG.md .*docs/upgrading.md; then run npm run freeze.$`,
    ),
  ]);
  expect(broken(frozen, { ...frozen, [section]: { ...rest, [name]: 'another' } })).toEqual([
    expect.stringContaining(`${section}: ${name} was “${was}” and is “another”.`),
  ]);
});

test.each([
  ['settings', 'LOG_LEVEL'],
  ['commands', 'responses-extproc doctor'],
])(
  'a change in %s is announced where both pages have its name, and CHANGELOG.md for its newest version',
  (section, name) => {
    const frozen = { [section]: { [name]: 'one' } };
    const changed = { [section]: { [name]: 'another' } };
    const told = (changelog: string, upgrading: string) =>
      unannounced(frozen, changed, (path) => (path === 'CHANGELOG.md' ? `# Changes\n\n${changelog}` : upgrading));
    const [newest, former] = [`## 2.0.0\n\n- \`${name}\`\n`, '## 1.0.0\n\n- nothing\n'];
    expect(told(newest + former, `\`${name}\``)).toEqual([]);
    expect(told(newest + former, 'nothing')).toEqual(broken(frozen, changed));
    expect(told(former + newest, `\`${name}\``)).toEqual(broken(frozen, changed));
  },
);
