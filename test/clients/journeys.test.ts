/** Guides that people read one after the other, followed to the letter with the client that they name. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { type Child, startChild } from '../../mesh/child-process.ts';
import { findEnvoy } from '../../mesh/envoy-binary.ts';
import { anyFreePort, untilListening } from '../../mesh/ports.ts';
import { commandsIn, type Started, startedBy } from '../support/doc-commands.ts';
import { type ServiceProcess, startServiceProcess } from '../support/service-process.ts';
import { type ScriptedUpstream, startScriptedUpstream } from '../support/upstream.ts';
import { answer, call } from './answers.ts';
import { type Codex, createCodex } from './codex.ts';

const root = join(import.meta.dirname, '../..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const guide = 'docs/guides/your-own-envoy.md';

/** The ports that the pages name, and those that stand in for them here. */
let ports: ReadonlyMap<string, number>;
let upstream: ScriptedUpstream;
let service: ServiceProcess | undefined;
let envoy: Child | undefined;
let codex: Codex | undefined;
let folder = '';
afterEach(async () => {
  codex?.remove();
  await Promise.all([envoy?.stop(), service?.remove(), upstream.close()]);
  rmSync(folder, { recursive: true, force: true });
});

const here = (text: string) => [...ports].reduce((changed, [port, own]) => changed.replaceAll(port, String(own)), text);
const isCommand = (program: string, start: string) => (started: Started) =>
  started.program === program && started.args.join(' ').startsWith(start);

/** What the guide starts: the service with its variables, and Envoy with its file. */
async function followYourOwnEnvoy(): Promise<string> {
  folder = mkdtempSync(join(tmpdir(), 'responses-extproc-journey-'));
  upstream = await startScriptedUpstream();
  ports = new Map([
    ['10000', await anyFreePort()],
    ['50051', await anyFreePort()],
    ['50052', await anyFreePort()],
    ['8080', upstream.port],
  ]);
  const commands = startedBy(commandsIn(read(guide)));
  const start = commands.find(isCommand('node', 'dist/main.js'));
  const run = commands.find(isCommand('npm', 'run envoy -- -c '));
  const variables = ['UPSTREAM_PROFILE', 'WEBSOCKET_LISTEN', 'WEBSOCKET_FORWARD_TO'];
  const environment = Object.fromEntries(variables.map((name) => [name, here(start?.environment[name] ?? '')]));
  expect(environment).toMatchObject({ UPSTREAM_PROFILE: 'vllm' });
  service = await startServiceProcess({ ...environment, LISTEN: `127.0.0.1:${ports.get('50051')}` });
  const file = join(folder, 'envoy.yaml');
  writeFileSync(file, here(read(run?.args.at(-1) ?? '')));
  // Envoys of one machine share memory unless they are told not to.
  envoy = startChild('envoy', findEnvoy(process.env).path, ['-c', file, '--disable-hot-restart', '-l', 'error']);
  await untilListening(ports.get('10000') ?? 0, AbortSignal.timeout(60_000));
  return `http://127.0.0.1:${ports.get('10000')}`;
}

describe('your own Envoy, then Codex for a team', () => {
  test('Codex runs a command and answers over a WebSocket, knows its model, and warns of nothing', async () => {
    const url = await followYourOwnEnvoy();
    const list = { object: 'list', data: [{ id: 'tiny', object: 'model', max_model_len: 32_768 }] };
    upstream.script('/v1/models?client_version=0.171.0', { body: [JSON.stringify(list)] });
    upstream.script('tiny', call('exec_command', { cmd: 'ls' }), answer({ text: 'It is empty.' }));
    codex = createCodex({ url, model: 'tiny', provider: { page: 'docs/guides/codex-for-a-team.md' } });
    const run = await codex.exec('List the files of this folder and tell me what the project is.');

    expect(run).toMatchObject({ code: 0, answer: 'It is empty.' });
    expect(`${run.stderr}\n${JSON.stringify(run.events)}`).not.toMatch(
      /Model metadata|failed to connect|unexpected status|fall(?:ing)? back/i,
    );
    expect(upstream.received('tiny')).toHaveLength(2);
    expect(await service?.metric('responses_extproc_websocket_turns_total', { outcome: 'completed' })).toBeGreaterThan(
      1,
    );
  });

  test('while the service is down, requests get a 503 that is the API’s JSON', async () => {
    const url = await followYourOwnEnvoy();
    await service?.remove();
    const response = await fetch(`${url}/v1/responses`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"model":"tiny","input":"Hi"}',
    });
    expect(response.status).toBe(503);
    expect(await response.json()).toMatchObject({ error: { type: 'server_error', code: 'upstream_unavailable' } });
  });
});
