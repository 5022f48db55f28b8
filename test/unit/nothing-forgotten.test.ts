import { globSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join, matchesGlob } from 'node:path';
import { expect, test } from 'vitest';
import { readFrozen } from '../../scripts/generate/public-names.ts';
import { listed } from '../../scripts/tests/nearest-tests.ts';
import { suites } from '../../scripts/tests/suites.ts';
import { projectsOf } from '../../scripts/tests/test-projects.ts';
import { builtInProfiles } from '../../src/filter/upstream/profiles.ts';
import vitestConfig from '../../vitest.config.ts';
import { readGoldenCases } from '../support/golden.ts';
import { serverGuards, toolGuards } from '../support/server-guards.ts';

const root = join(import.meta.dirname, '../..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const sources = globSync(['src/**/*.ts', 'mesh/*.ts'], { cwd: root });

const everyFile = listed([]);
const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
const { projects } = vitestConfig.test as { projects: { test: { name: string; include: string[] } }[] };

test('every test file is in the project that runs it by its path (else: name it .test.ts, or add it to an `include`)', () => {
  const registers = /^(?:test|it|describe)(?:\.\w+)*\(/m;
  const isTest = (file: string) =>
    /\.(?:test|spec)\.[cm]?[jt]sx?$/.test(file) ||
    (/^test\/.*\.[cm]?[jt]sx?$/.test(file) && registers.test(read(file)));
  const files = everyFile.filter(isTest);
  expect(files.length).toBeGreaterThan(200);
  const included = (file: string) =>
    projects.some(
      ({ test: { name, include } }) =>
        projectsOf([file], []).includes(name) && include.some((pattern) => matchesGlob(file, pattern)),
    );
  expect(files.filter((file) => !included(file))).toEqual([]);
});

test('every project of vitest.config.ts is run (else: add a suite to scripts/tests/suites.ts, or it to scripts/tests/test.ts)', () => {
  // What runs a project: `vitest-report.ts NAME` in a suite or in what the suite runs, or its name in what `npm test` runs.
  const files = ['scripts/tests/test.ts', ...suites.flatMap(({ commands }) => commands.flat())];
  const programs = files.filter((file) => /^(?:scripts|test)\//.test(file)).map(read);
  const text = [...suites.map(({ commands }) => commands.map((words) => words.join(' ')).join('\n')), ...programs].join(
    '\n',
  );
  const runs = (name: string) => new RegExp(`vitest-report\\.ts ${name}\\b|'${name}'`).test(text);
  expect(projects.filter(({ test: { name } }) => !runs(name)).map(({ test: { name } }) => name)).toEqual([]);
});

test('every script of package.json is named where somebody would run it (else: a page, a workflow, or take it out)', () => {
  const texts = everyFile.filter((file) => /\.(?:md|ya?ml|sh|m?[jt]s)$|^\.ci\//.test(file)).map(read);
  const everything = texts.join('\n');
  const isNamed = (name: string) => new RegExp(`npm (?:run )?(?:-s )?${name}(?![\\w:-])`).test(everything);
  expect(Object.keys(scripts).filter((name) => !isNamed(name))).toEqual([]);
});

test('every recipe, example and fixture is named by a test or script (else: try it in one, or take it out)', () => {
  const code = everyFile.filter((file) => /^(?:test|scripts|mesh)\/.*\.(?:m?[jt]s|sh|json)$/.test(file));
  const text = code.map(read).join('\n');
  const patterns = ['envoy/**/*.{yml,yaml,lua}', 'docs/monitoring/*', 'test/recordings/*.*'];
  for (const pattern of patterns) {
    const files = everyFile.filter((file) => matchesGlob(file, pattern) && !file.endsWith('.md'));
    expect(files, pattern).not.toEqual([]);
    expect(files.filter((file) => !text.includes(basename(file)))).toEqual([]);
  }
  // A test runs an example by its name alone, and one may be a part of others.
  const examples = everyFile.filter((file) => file.startsWith('docs/examples/'));
  const runs = read('test/deployment/examples.test.ts');
  const isTried = (file: string) =>
    runs.includes(`'${basename(file, '.mjs')}'`) ||
    [text, ...examples.filter((other) => other !== file).map(read)].some((one) => one.includes(basename(file)));
  expect(examples).not.toEqual([]);
  expect(examples.filter((file) => !isTried(file))).toEqual([]);
  // What clients sent is read as a folder where it is a Response's request, and by its name where it is another.
  const sent = everyFile.filter((file) => /^test\/clients\/recorded\/.*\.json$/.test(file));
  const others = sent.filter((file) => {
    const { path, body } = JSON.parse(read(file)) as { path?: string; body?: object | null };
    return path !== '/v1/responses' || body == null;
  });
  expect(others).not.toEqual([]);
  expect(others.filter((file) => !text.includes(basename(file, '.json')))).toEqual([]);
  // Fixtures are read as folders, and their files have names that others have too.
  const fixtures = readdirSync(join(root, 'test/fixtures')).map((name) => `fixtures/${name}`);
  expect(fixtures).not.toEqual([]);
  expect(fixtures.filter((path) => !text.includes(path))).toEqual([]);
});

test('every page is linked from another (else: link it where its reader comes by)', () => {
  const pages = everyFile.filter((file) => /^(?:docs|envoy|deploy)\/.*\.md$/.test(file));
  const linked = new Set(
    everyFile
      .filter((file) => file.endsWith('.md') && !file.startsWith('test/golden/'))
      .flatMap((file) =>
        [...read(file).matchAll(/\]\(([^)#\s]+)/g)]
          .map(([, path = '']) => join(dirname(file), path))
          .filter((to) => to !== file),
      ),
  );
  // A folder's README stands for it.
  const isLinked = (page: string) =>
    linked.has(page) || (page.endsWith('/README.md') && linked.has(`${dirname(page)}/`));
  expect(pages.length).toBeGreaterThan(30);
  expect(pages.filter((page) => !isLinked(page))).toEqual([]);
});

test('every option of a command is in its help (else: say what it does)', () => {
  const has = (text: string, name: string) => new RegExp(`--${name}(?![\\w-])`).test(text);
  const commands = sources.filter((file) => /\bparse(?:Args|Options)\(/.test(read(file)));
  const faults = commands.flatMap((file) => {
    const names = [...read(file).matchAll(/^ +'?([a-z-]+)'?: \{ type: '(?:string|boolean)'/gm)].map(
      ([, name = '']) => name,
    );
    const folder = globSync(`${dirname(file)}/*.{ts,txt}`, { cwd: root }).map(read);
    const help = folder.flatMap((text) => /Usage: [^`]*/.exec(text) ?? []).join('\n');
    return names.filter((name) => !has(help, name)).map((name) => `${file}: --${name}`);
  });
  expect(commands.length).toBeGreaterThan(3);
  expect(faults).toEqual([]);
});

test('every option that is promised is on a page about its command (else: say there when somebody needs it)', () => {
  const pages = everyFile.filter((file) => /^(?:docs\/|envoy\/|README|CONTRIBUTING).*\.md$/.test(file)).map(read);
  const { commands } = readFrozen() as { commands: Readonly<Record<string, string>> };
  const options = Object.entries(commands).flatMap(([name, promised]) => {
    const command = name.replace('responses-extproc try', 'npm start').replace('responses-extproc ', '');
    return (promised.match(/--[\w-]+/g) ?? []).map((option) => ({ command, option }));
  });
  const isOnPage = ({ command, option }: { command: string; option: string }) =>
    pages.some((page) => page.includes(command) && new RegExp(`${option}(?![\\w-])`).test(page));
  expect(options.length).toBeGreaterThan(25);
  const ofEveryCommand = ['--help', '--version'];
  expect(options.filter((one) => !ofEveryCommand.includes(one.option) && !isOnPage(one))).toEqual([]);
});

/** The kinds of golden files, `KIND-….md` or `KIND.md`, and the blocks that their runners read. */
const kinds: Readonly<Record<string, readonly string[]>> = {
  request: ['chat', 'context', 'dropped', 'echo', 'error', 'profiles', 'request', 'settings'],
  stream: [
    ...['upstream', 'client', 'client error', 'client response', 'context', 'request'],
    ...['upstream json', 'upstream escaped'],
  ],
  completion: ['client', 'context', 'error', 'request', 'settings', 'upstream'],
  errors: ['upstream', 'client', 'statuses'],
  websocket: ['limits', 'session'],
};

test.each(readdirSync(join(root, 'test/golden')).filter((name) => name.endsWith('.md')))(
  'test/golden/%s has a runner, which reads each of its blocks (else: correct the name, or teach the runner and `kinds`)',
  (name) => {
    const known = kinds[/^[a-z]+/.exec(name)?.[0] ?? ''];
    expect(known, 'no runner reads a file of that name').toBeDefined();
    const cases = readGoldenCases(new URL(`../golden/${name}`, import.meta.url));
    const unknown = cases.flatMap(({ where, blocks }) =>
      blocks.filter((block) => !known?.includes(block.name)).map((block) => `${where}: ${block.name}`),
    );
    expect(unknown).toEqual([]);
  },
);

test('variables are read through settings-table.ts alone (else: add a row there, and read it from the configuration)', () => {
  const reads = /\bprocess\.env\b|^import .*\benv\b.* from '(?:node:)?process'/m;
  const readers = sources.filter((file) => file.startsWith('src/') && reads.test(read(file)));
  expect(readers.toSorted()).toEqual([
    'src/program/explain-worker.ts', // gives all of them to the subcommand
    'src/program/probe.ts', // gives all of them to the table
    'src/program/process-memory.ts', // Node's own NODE_OPTIONS
    'src/program/program.ts', // gives all of them to the table
    'src/service/server/workers.ts', // the number that the supervisor gives a worker
  ]);
});

test('every server has a guard of what it refuses (else: add one to test/support/server-guards.ts)', () => {
  const guarded = [...serverGuards, ...toolGuards].map(({ profile }) => profile);
  expect(guarded.filter((name) => !builtInProfiles.has(name))).toEqual([]);
  expect([...builtInProfiles.keys()].filter((name) => !guarded.includes(name))).toEqual([]);
});
