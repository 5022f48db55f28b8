import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { parseBenchArguments } from '../../../bench/arguments.ts';
import { parseMeshOptions as readMeshOptions } from '../../../mesh/options.ts';
import { suites } from '../../../scripts/tests/suites.ts';
import { translateRequest } from '../../../src/filter/translate/translate-request.ts';
import { readCommand } from '../../../src/program/command-line.ts';
import { readConfig } from '../../../src/service/settings/config.ts';
import { settingsIn } from '../../../src/service/settings/setting.ts';
import { settings } from '../../../src/service/settings/settings-table.ts';
import { parseDoctorOptions as readDoctorOptions } from '../../../src/tools/doctor/doctor-options.ts';
import { explain } from '../../../src/tools/explain/explain-command.ts';
import { createCountedIds } from '../../support/context.ts';
import { commandsIn, type Started, startedBy } from '../../support/doc-commands.ts';
import { runSubcommand } from '../../support/run-subcommand.ts';
import { createTestSettings } from '../../support/settings.ts';

const root = join(import.meta.dirname, '../../..');
const pages = [
  ...['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'SUPPORT.md', 'envoy/README.md', 'deploy/chart/README.md'],
  ...['test/recordings/README.md', ...globSync('docs/**/*.md', { cwd: root }).sort()],
];
const read = (page: string) => readFileSync(join(root, page), 'utf8');
const { scripts, devDependencies } = JSON.parse(read('package.json')) as {
  scripts: Record<string, string>;
  devDependencies: Record<string, string>;
};
const isFile = (path: string) => existsSync(join(root, path));

/** What the names in capitals stand for, and what is left out. */
const folder = mkdtempSync(join(tmpdir(), 'responses-extproc-pages-'));
afterAll(() => rmSync(folder, { recursive: true }));
const request = join(folder, 'request.json');
writeFileSync(request, '{"model": "m", "input": "Hi"}');
const placeholders: Readonly<Record<string, string>> = {
  ...{ FILE: request, 'request.json': request, 'exchange.json': request, URL: 'http://127.0.0.1:1/v1', NAME: 'vllm' },
  ...{ 'https://…': 'https://api.example.com/v1', 'stream-chunks.md:LINE': 'stream-chunks.md:8' },
};

/** Each runs a command, or has what would run it read its words; throws, or fails an expectation, where it cannot be. */
const checks: Readonly<Record<string, (started: Started) => unknown>> = {
  npm({ args: [name = '', ...rest], environment }) {
    if (['ci', 'audit'].includes(name)) return undefined;
    if (name === 'install') return expect(Object.keys(devDependencies)).toEqual(expect.arrayContaining(rest));
    const script = name === 'run' ? (rest.shift() ?? '') : name;
    expect(Object.keys(scripts)).toContain(script);
    const words = rest[0] === '--' ? rest.slice(1) : [];
    expect(rest.length, 'npm keeps options that stand before --').toBe(words.length + (rest[0] === '--' ? 1 : 0));
    return checkScript(script, words, environment);
  },
  node({ args: [file = '', ...words], environment }) {
    // What a reader saves, test/deployment/readme.test.ts runs.
    if (file === '-e' || file === 'hello.mjs') return undefined;
    if (file !== 'dist/main.js') return checkOptions(file, words);
    expect(readCommand(words).type).toBe('serve');
    return readConfig(environment);
  },
  'responses-extproc': ({ args: [script = '', ...words], environment }) => checkScript(script, words, environment),
  vitest({ args }) {
    const config = read('vitest.config.ts');
    for (const word of args.filter((one) => one !== 'run')) {
      const [, project] = /^--project=(.*)$/.exec(word) ?? [];
      if (project === undefined) expect(isFile(word), word).toBe(true);
      else expect(config).toContain(`name: '${project}'`);
    }
  },
  // test/envoy/recipes.test.ts and test/monitoring run them.
  envoy: ({ args: [, file = ''] }) => expect(isFile(file), file).toBe(true),
  promtool: ({ args: [, , file = ''] }) => expect(isFile(file), file).toBe(true),
  'scripts/containers/kubernetes-tools.sh': ({ args }) => checkOptions('scripts/containers/kubernetes-tools.sh', args),
  'bench/contender.sh': ({ args }) => checkOptions('bench/contender.sh', args),
  /** Bodies are translated; what is answered, test/envoy, test/state and test/kubernetes see. */
  curl({ args }) {
    const url = args.find((word) => word.startsWith('http'));
    if (url === undefined) return;
    expect(new URL(url.replace('http:///', 'http://gateway/')).pathname).toBe('/v1/responses');
    const body = JSON.parse(args[args.indexOf('-d') + 1] ?? '') as object;
    translateRequest(body, createTestSettings({ profile: 'generic' }), { now: () => 0, newId: createCountedIds() });
  },
  helm({ args: [command = '', ...args] }) {
    expect(['install', 'upgrade', 'rollback', 'template', 'test']).toContain(command);
    for (const word of args.filter((one) => one.startsWith('deploy/')))
      expect(isFile(word.endsWith('.yaml') ? word : join(word, 'Chart.yaml')), word).toBe(true);
    const values = parse(read('deploy/chart/values.yaml'));
    for (const [, path = ''] of args.join(' ').matchAll(/--set (\S+?)=/g)) {
      if (!path.startsWith('config.')) expect(valueAt(values, path), path).toBeDefined();
      else expect(settingsIn(settings).map(({ variable }) => `config.${variable}`)).toContain(path);
    }
  },
  kubectl({ args }) {
    const manifests = ['envoy/service.yaml', 'envoy/gateway/gateway.yaml'].map(read).join('\n---\n').split(/^---$/m);
    const kinds: Readonly<Record<string, string>> = {
      deploy: 'Deployment',
      deployment: 'Deployment',
      gateway: 'Gateway',
    };
    const words = args.join(' ');
    // What the gateway's controller makes has a name that only the cluster knows, and a label that the network policy has too.
    const [, label, value] = /--selector (\S+)=(\S+)/.exec(words) ?? [];
    if (label !== undefined) return expect(manifests.join('')).toContain(`${label}: ${value}`);
    const [, port] = /^port-forward .*:(\d+)$/.exec(words) ?? [];
    if (port !== undefined) return expect(manifests.join('')).toContain(`protocol: HTTP, port: ${port}`);
    const [, kind = '', name = ''] = /(deploy|deployment|gateway)[ /](\S+)/.exec(words) ?? [];
    const named = manifests.map((one) => parse(one)).find((one) => one?.kind === kinds[kind]);
    return expect(named?.metadata.name).toBe(name);
  },
  docker({ args: [command = '', ...args] }) {
    expect(['build', 'push', 'run', 'stop', 'compose']).toContain(command);
    args.forEach((word, index) => {
      const value = args[index + 1] ?? '';
      if (word === '-f') expect(isFile(value), value).toBe(true);
      if (word === '--build-arg') expect(read('Dockerfile')).toContain(`ARG ${value.split('=')[0]}`);
    });
  },
  pip({ args: [, wanted = ''] }) {
    const [name = '', version] = wanted.replace(/\[.*\]/, '').split('==');
    const pinned = ['test/state/requirements.txt', 'test/clients/requirements.txt'].map(read).join('\n');
    expect(pinned).toMatch(new RegExp(`^${name}==${version ?? ''}`, 'm'));
  },
  'agentic-server': ({ args }) => checkOptions('test/state/agentic-api.ts', args),
  git({ args: [command, , path = ''] }) {
    if (command === 'config') expect(isFile(path), path).toBe(true);
  },
};

/** Of others, and nothing here says what they take. */
const unchecked = ['sudo', 'cosign', 'istioctl', 'egctl', 'codex', 'sleep'];

/** A script of package.json with these words behind it. */
async function checkScript(script: string, words: readonly string[], environment: Started['environment']) {
  const args = words.map((word) => placeholders[word] ?? word);
  switch (script) {
    case 'start':
      return readMeshOptions(args, environment);
    case 'doctor':
      return args.length === 0 ? undefined : readDoctorOptions(args, { ...environment, UPSTREAM_API_KEY: 'none' });
    case 'explain': {
      const own = args.includes('--response') ? [request, ...args] : args;
      const { code, err } = await runSubcommand(explain, own, { input: readFileSync(request, 'utf8') });
      // A request is no answer, which is what a file that stands for one is here.
      expect(err).toBe('');
      return expect(code).toBe(args.includes('--response') ? 3 : 0);
    }
    case 'bench':
      return args.length === 0 ? undefined : expect(parseBenchArguments(args)).not.toBeNull();
    case 'test':
      return checkTest(args);
    case 'golden':
      for (const word of args) if (word.includes('.md')) checkCase(word);
      return checkOptions('scripts/tests/golden.ts', args);
    default:
      for (const word of args)
        if (word.startsWith('test/') || word.startsWith('src/')) expect(isFile(word), word).toBe(true);
      return checkOptions(
        /node (?:--\S+ )*(?:scripts\/run\.mjs )?(\S+)/.exec(scripts[script] ?? '')?.[1] ?? 'package.json',
        args,
      );
  }
}

/** `npm test -- SUITE`, `-- nightly SUITE…`, `-- repeat FILE…`, or tests and options of vitest. */
function checkTest([first = '', ...rest]: readonly string[]): void {
  const names = suites.map(({ name }) => name);
  if (first === 'nightly') {
    expect(names).toEqual(expect.arrayContaining([...rest]));
    return;
  }
  const suite = suites.find(({ name }) => name === first);
  if (suite !== undefined) {
    const files = suite.commands.flat().filter((word) => isFile(word));
    for (const word of rest) if (word.startsWith('--')) expect(files.map(read).join('\n')).toContain(word);
    return;
  }
  const words = first === 'repeat' ? rest : [first, ...rest];
  for (const word of words) if (/^(?:test|src)\//.test(word)) expect(isFile(word), word).toBe(true);
  const sources = ['scripts/tests/test-projects.ts', 'scripts/tests/repeat-tests.ts'].map(read).join('\n');
  for (const word of words) if (word.startsWith('--')) expect(sources).toContain(word.slice(2));
}

/** `stream-chunks.md:8`: the file has a case at that line. */
function checkCase(word: string): void {
  const [file = '', line = '1'] = word.split(':');
  expect(read(`test/golden/${file}`).split('\n').length).toBeGreaterThanOrEqual(Number(line));
}

/** That the file is there, and names each option. */
function checkOptions(file: string, words: readonly string[]): void {
  const source = read(file);
  for (const word of words) {
    const [option = ''] = word.split('=');
    if (option.startsWith('--'))
      expect(source, word).toMatch(new RegExp(`['"\`\\s[]${option}\\b|['\\s]${option.slice(2)}'?:`));
  }
}

function valueAt(values: unknown, path: string): unknown {
  return path
    .split('.')
    .reduce<unknown>((object, key) => (object as Record<string, unknown> | undefined)?.[key], values);
}

test.each(pages)('every command of %s runs: a shell reads it, and what it names takes its words', async (page) => {
  const faults: string[] = [];
  for (const started of startedBy(commandsIn(read(page)))) {
    try {
      await checkStarted(started);
    } catch (error) {
      faults.push(`${started.program} ${started.args.join(' ')}: ${error}`);
    }
  }
  expect(faults).toEqual([]);
});

async function checkStarted(started: Started): Promise<void> {
  if (unchecked.includes(started.program)) return;
  const check = checks[started.program];
  if (check === undefined) throw new Error(`${import.meta.filename} does not say how it is checked.`);
  await check(started);
}

test('a command that is wrong is found', async () => {
  const wrong: readonly (readonly [command: string, why: RegExp])[] = [
    ['npm start -- --profil vllm', /Unknown option/],
    ['npm start --profile vllm', /npm keeps/],
    ['npm run explian -- FILE', /explian/],
    ['npm run explain -- --profile vlm FILE', /UPSTREAM_PROF/],
    ['npm test -- test/unit/nothing', /nothing/],
    ['WORKERS=0 node dist/main.js', /WORKERS/],
    ['node scripts/record/record-upstream.ts --profiles vllm', /profiles/],
    [`curl http://127.0.0.1:10000/v1/responses -d '{"model":"m"}'`, /input/],
    ['helm install x deploy/chart --set gateway.sort=istio', /sort/],
    ['kubectl rollout status deployment/response-extproc', /response-extproc/],
    ['docker compose -f compose.yml up', /compose\.yml/],
    ['make test', /does not say/],
  ];
  for (const [command, why] of wrong) {
    const [started] = startedBy([command]);
    await expect(async () => checkStarted(started as Started), command).rejects.toThrow(why);
  }
  expect(() => startedBy(["echo 'a"])).toThrow(/unexpected EOF/);
});

test.each(pages)('the files that %s names are there', (page) => {
  const named = [...read(page).matchAll(/`((?:src|mesh|test|bench|scripts|deploy|envoy|docs|proto)\/[\w./-]+)`/g)];
  const isThere = (path: string) => [root, join(root, 'docs')].some((folder) => existsSync(join(folder, path)));
  // A name in capitals stands for one that the reader chooses.
  expect(named.map(([, path = '']) => path).filter((path) => !/[A-Z]{4}\./.test(path) && !isThere(path))).toEqual([]);
});

/** Variables of others: Node, the C library, the image, the mesh, bench and tests, and agentic-api. */
const others =
  /^(NODE_|MALLOC_|UPSTREAM_(KEY|API_KEY)$|ENVOY_BIN$|LOG_FORMAT$|FAST_CHECK_|RECORD$|OPENAI_|PROVIDER_API_KEY$|OIDC_|DATABASE_URL$|[A-Z]+_IMAGE$|(REVISION|SOURCE)$|EXTPROC_PORT$)/;

test.each(pages)('the variables that commands of %s set are those of the service', (page) => {
  const known = new Set(settingsIn(settings).map(({ variable }) => variable));
  const blocks = [...read(page).matchAll(/^```(?:sh|console)\n(.*?)^```/gms)].map(([, block = '']) => block);
  const names = blocks.flatMap((block) => [...block.matchAll(/(?<![\w.$-])([A-Z][A-Z_]{3,})=/g)]);
  expect(names.map(([, name = '']) => name).filter((name) => !known.has(name) && !others.test(name))).toEqual([]);
});
