/** The package's README, followed in an empty folder by somebody who has nothing of this project: no clone, no Envoy, no cache. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { findFreePort, waitUntilListening } from '../../mesh/ports.ts';
import { createNpmPackage } from '../../scripts/release/npm-package.ts';
import { commandsIn, ownPorts } from '../support/doc-commands.ts';
import { completion, startScriptedUpstream } from '../support/upstream.ts';

let folder = '';
let tarball = '';
const running: ChildProcess[] = [];
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'responses-extproc-empty-'));
  for (const name of ['home', 'empty']) mkdirSync(join(folder, name));
  await createNpmPackage(join(folder, 'package'), 'https://example.com/responses-extproc');
  execFileSync('npm', ['pack', '--offline', '--silent', './package'], { cwd: folder });
  tarball = join(folder, readdirSync(folder).find((name) => name.endsWith('.tgz')) ?? '');
});
afterEach(async () => {
  for (const child of running.splice(0)) await stop(child);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** `npx responses-extproc …`, where the package comes from a file instead of the registry that does not have it yet. */
function npx(line: string): { readonly child: ChildProcess; says(pattern: RegExp): Promise<RegExpExecArray> } {
  const path = [dirname(process.execPath), '/usr/local/bin', '/usr/bin', '/bin'].join(':');
  const command = line.replace(/\bnpx responses-extproc\b/, `npx --yes --package ${tarball} responses-extproc`);
  expect(command).not.toBe(line);
  const child = spawn('bash', ['-c', `exec env ${command}`], {
    cwd: join(folder, 'empty'),
    env: { HOME: join(folder, 'home'), PATH: path },
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  running.push(child);
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (text) => {
      output += text;
    });
  return {
    child,
    async says(pattern) {
      for (;;) {
        const found = pattern.exec(output);
        if (found !== null) return found;
        if (child.exitCode !== null) throw new Error(`ended with ${child.exitCode}:\n${output}`);
        await sleep(20);
      }
    },
  };
}

/** Ctrl-C, as a terminal sends it: to npm and to what npm started. */
async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
  const ended = once(child, 'close');
  process.kill(-child.pid, 'SIGINT');
  await ended;
}

const readme = readFileSync(join(import.meta.dirname, '../../scripts/release/npm-readme.md'), 'utf8');

test('`npx responses-extproc try` downloads an Envoy, answers the request that it prints, and leaves nothing in the folder', async () => {
  const [command = ''] = commandsIn(readme);
  expect(command).toBe('npx responses-extproc try\n');
  const mesh = npx(`${command.trim()} --port ${await findFreePort()}`);
  await mesh.says(/^ready http:\/\/127\.0\.0\.1:\d+\/v1$/m);
  const [curl] = await mesh.says(/^ *curl .*'\n/ms);
  const answer = execFileSync('bash', ['-c', curl.replace('curl', 'curl -s')], { encoding: 'utf8' });
  expect(answer).toMatch(/^event: response\.created\n[\s\S]*event: response\.completed\n/);
  await stop(mesh.child);
  expect(readdirSync(join(folder, 'empty'))).toEqual([]);
  expect(readdirSync(join(folder, 'home/.cache/responses-extproc')).join()).toMatch(/envoy-\d/);
});

test('the configuration that `try` prints, and the two commands above it, answer from the server that was named', async () => {
  const upstream = await startScriptedUpstream();
  upstream.script('mine', { body: [completion({ content: 'Hello.' })] });
  const ports = await ownPorts('10000', '9901', '50051', '50052');
  expect(readme).toContain('`npx responses-extproc try --print-envoy-config`');
  const server = `--upstream http://127.0.0.1:${upstream.port}/v1 --profile vllm`;
  const printed = npx(`npx responses-extproc try --print-envoy-config ${server}`);
  await once(printed.child, 'close');
  const [config] = await printed.says(/^# Envoy's configuration[\s\S]*/m);
  const file = join(folder, 'home/envoy.yaml');
  writeFileSync(file, ports.put(config));
  const [service = '', envoy = ''] = [...config.matchAll(/^# {3}(.*npx responses-extproc.*)$/gm)].map(
    ([, line = '']) => line,
  );

  const variables = `LISTEN=127.0.0.1:${ports.of('50051')} ADMIN_LISTEN=off DRAIN_DELAY_MS=0`;
  await npx(`${variables} ${ports.put(service)}`).says(/"msg":"listening"/);
  npx(`${envoy.replace('FILE', file)} --disable-hot-restart`);
  await waitUntilListening(ports.of('10000'), AbortSignal.timeout(240_000));
  const response = await fetch(`http://127.0.0.1:${ports.of('10000')}/v1/responses`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"model":"mine","input":"Say hello."}',
  });
  expect(await response.json()).toMatchObject({ status: 'completed' });
  expect(upstream.received('mine')).toMatchObject([{ path: '/v1/chat/completions' }]);
  await upstream.close();
});
