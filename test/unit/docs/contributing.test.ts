import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, describe, expect, it, test } from 'vitest';
import type { VitestReport } from '../../../scripts/tests/vitest-report.ts';
import { explainSetupOf } from '../../support/config-of-settings.ts';
import { createdAt } from '../../support/context.ts';

/** The recipes of CONTRIBUTING.md, followed to the letter in a copy of the tree. */
const root = join(import.meta.dirname, '../../..');
const contributing = readFileSync(join(root, 'CONTRIBUTING.md'), 'utf8');
const cache = join(root, '.cache');
mkdirSync(cache, { recursive: true });
const folders: string[] = [];
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true });
});

function copyOf(...paths: readonly string[]): string {
  const copy = mkdtempSync(join(cache, 'contributing-'));
  folders.push(copy);
  for (const path of paths) cpSync(join(root, path), join(copy, path), { recursive: true });
  return copy;
}

/** Adds lines to a file of the copy, below the one that is given. */
function addBelow(copy: string, path: string, below: string, lines: string): void {
  const text = readFileSync(join(copy, path), 'utf8');
  expect(text.split(below), `${path} has no line, or several, of ${below}`).toHaveLength(2);
  writeFileSync(join(copy, path), text.replace(below, `${below}\n${lines}`));
}

/** The text of a recipe, from its heading to the next. */
function recipe(title: string): string {
  const [, text = ''] = contributing.split(`\n## ${title}\n`);
  expect(text, `CONTRIBUTING.md has no recipe “${title}”`).not.toBe('');
  return text.split('\n## ')[0] ?? '';
}

test('CONTRIBUTING.md is one page', () => {
  expect(contributing.split(/\s+/).length).toBeLessThan(1_100);
});

describe('“Add a field”', () => {
  it('followed step by step, leads to an explanation that says what became of it', async () => {
    const text = recipe('Add a field');
    const line = /`(written\.\w+\('gloss', [^`]*;)`/.exec(text)?.[1] ?? '';
    expect(text).toContain('Suppose the API gains `shine`, a number that some servers call `gloss`.');
    expect(text).toContain('`explain` says `shine → gloss`');
    const copy = copyOf(
      ...['formats', 'filter', 'service', 'tools/explain', 'tools/cli'].map((floor) => `src/${floor}`),
      'package.json',
    );
    addBelow(
      copy,
      'src/filter/translate/shared/request-fields.ts',
      '  top_p: read(number(0, 1)),',
      '  shine: read(number(0, 1)),',
    );
    addBelow(
      copy,
      'src/filter/translate/request-to-chat/request.ts',
      `  written.copy('moderation', 'moderation');`,
      `  ${line}`,
    );
    const { explainRequest } = await import(pathToFileURL(join(copy, 'src/tools/explain/explain-request.ts')).href);
    const request = {
      method: 'POST',
      path: '/v1/responses',
      headers: new Map([['content-type', 'application/json']]),
      body: Buffer.from(JSON.stringify({ model: 'm', input: 'x', shine: 0.5 })),
    };
    const { fields, added, chat_request } = explainRequest({
      setup: explainSetupOf({}),
      request,
      now: createdAt,
      fields: null,
      linkBase: '',
    });
    expect(chat_request.body).toMatchObject({ gloss: 0.5 });
    expect(fields.find(({ field }: { field: string }) => field === 'shine')).toMatchObject({
      fate: 'renamed',
      becomes: [{ path: 'gloss', value: 0.5 }],
    });
    expect(added.map(({ path }: { path: string }) => path)).not.toContain('gloss');
  });
});

describe('a row without the rest of its recipe', () => {
  const copy = copyOf(
    ...['src', 'scripts', 'docs', 'deploy', 'envoy', 'mesh', 'proto', 'bench'],
    ...['test/unit', 'test/golden', 'test/support', 'test/fixtures', 'test/last-runs.json', 'test/README.md'],
    ...['package.json', 'README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'vitest.config.ts', 'docker-compose.yml'],
  );
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  const files = [
    'test/unit/docs/mapping.test.ts',
    'test/unit/filter/translate/request-to-chat/nothing-lost.test.ts',
    'test/unit/filter/upstream/rows.test.ts',
    'test/unit/scripts/generate.test.ts',
    'test/unit/scripts/public-names.test.ts',
    'test/unit/service/settings/settings-table.test.ts',
    'test/unit/service/telemetry/metrics.test.ts',
  ];
  addBelow(
    copy,
    'src/filter/translate/shared/request-fields.ts',
    '  top_p: read(number(0, 1)),',
    '  shine: read(number(0, 1)),',
  );
  addBelow(
    copy,
    'src/filter/upstream/profile.ts',
    'export const profileFlags = {',
    `  shines: off('The server shines.'),`,
  );
  addBelow(
    copy,
    'src/service/settings/settings-table.ts',
    'const ofProcess = [',
    `  setting('SHINE', count(0, 1), '0', { meaning: 'How it shines.', setBy: 'nobody' }),`,
  );
  addBelow(
    copy,
    'src/service/telemetry/metric-rows.ts',
    'export const metricRows = {',
    `  shines: { name: 'responses_extproc_shines_total', help: 'Shines.' },`,
  );
  const report = join(copy, 'report.json');
  const { stdout } = spawnSync(
    join(root, 'node_modules/.bin/vitest'),
    ['run', '--project=unit', '--reporter=json', `--outputFile=${report}`, ...files],
    { cwd: copy, encoding: 'utf8' },
  );
  const { testResults } = JSON.parse(readFileSync(report, 'utf8')) as VitestReport;
  const red = testResults.flatMap(({ name, assertionResults }) =>
    assertionResults.flatMap(({ status, fullName = '' }) =>
      status === 'failed' ? [`${name.slice(copy.length + 1)}: ${fullName}`] : [],
    ),
  );

  it.each([
    [
      'Add a field',
      [
        /mapping\.test\.ts: .*has a row for shine, and a golden case shows it$/,
        /nothing-lost\.test\.ts: every field that is read is among them$/,
      ],
    ],
    [
      "Add a server's difference (a flag)",
      [
        /rows\.test\.ts: every flag has evidence, or a reason why there is none: shines$/,
        /rows\.test\.ts: every flag is read by something$/,
        /generate\.test\.ts: profiles/,
        /public-names\.test\.ts: a new name is frozen too/,
      ],
    ],
    [
      'Add a setting or a metric',
      [
        /settings-table\.test\.ts: SHINE is read, as SHINE$/,
        /metrics\.test\.ts: something counts in metrics\.shines$/,
        /generate\.test\.ts: tables? of variables/,
        /generate\.test\.ts: tables? of metrics/,
        /public-names\.test\.ts: a new name is frozen too/,
      ],
    ],
  ])('of “%s” is red in the tests that its command runs', (title, expected) => {
    const [, command = ''] = /`npm test -- ([^`]*)` says what is missing/.exec(recipe(title)) ?? [];
    const seen = red.filter((one) => command.split(' ').some((path) => one.startsWith(path)));
    for (const name of expected)
      expect(
        seen.filter((one) => name.test(one)),
        `${name} in ${seen.join('\n')}\n${stdout.slice(-2000)}`,
      ).not.toEqual([]);
  });
});
