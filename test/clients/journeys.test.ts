/** Guides that people read one after the other, followed to the letter with the client that they name. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { findEnvoy } from '../../mesh/envoy-binary.ts';
import { type EnvoyConfig, findEnvoyRoute } from '../../mesh/envoy-config.ts';
import { waitUntilListening } from '../../mesh/ports.ts';
import { type Child, startChild } from '../../mesh/processes.ts';
import { codeBlocks } from '../../scripts/tests/readme-commands.ts';
import { commandsIn, type OwnPorts, ownPorts, type Started, startedBy } from '../support/doc-commands.ts';
import { putBefore } from '../support/guide-config.ts';
import { type ServiceProcess, startServiceProcess } from '../support/service-process.ts';
import { type ScriptedUpstream, startScriptedUpstream } from '../support/upstream.ts';
import { answer, call } from './answers.ts';
import { type Codex, createCodex } from './codex.ts';

const root = join(import.meta.dirname, '../..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const guide = 'docs/guides/your-own-envoy.md';
const teamGuide = 'docs/guides/codex-for-a-team.md';
const modelList = JSON.stringify({ object: 'list', data: [{ id: 'tiny', object: 'model', max_model_len: 32_768 }] });
/** What Codex says where a route, a key or a setting is missing. */
const warnings = /Model metadata|failed to connect|unexpected status|fall(?:ing)? back/i;

/** The ports that the pages name, and those that stand in for them here. */
let ports: OwnPorts;
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

const isCommand = (program: string, start: string) => (started: Started) =>
  started.program === program && started.args.join(' ').startsWith(start);

/** What the guide starts: the service with its variables, and Envoy with its file, which `edit` may change as a next guide says. */
async function followYourOwnEnvoy(edit = (config: string) => config): Promise<string> {
  folder = mkdtempSync(join(tmpdir(), 'responses-extproc-journey-'));
  upstream = await startScriptedUpstream();
  ports = await ownPorts('10000', '50051', '50052', ['8080', upstream.port]);
  const commands = startedBy(commandsIn(read(guide)));
  const start = commands.find(isCommand('node', 'dist/main.js'));
  const run = commands.find(isCommand('npm', 'run envoy -- -c '));
  const variables = ['UPSTREAM_PROFILE', 'WEBSOCKET_LISTEN', 'WEBSOCKET_FORWARD_TO'];
  const environment = Object.fromEntries(variables.map((name) => [name, ports.put(start?.environment[name] ?? '')]));
  expect(environment).toMatchObject({ UPSTREAM_PROFILE: 'vllm' });
  service = await startServiceProcess({ ...environment, LISTEN: `127.0.0.1:${ports.of('50051')}` });
  const file = join(folder, 'envoy.yaml');
  writeFileSync(file, ports.put(edit(read(run?.args.at(-1) ?? ''))));
  // Envoys of one machine share memory unless they are told not to.
  envoy = startChild('envoy', findEnvoy(process.env).path, ['-c', file, '--disable-hot-restart', '-l', 'error']);
  await waitUntilListening(ports.of('10000'), AbortSignal.timeout(60_000));
  return `http://127.0.0.1:${ports.of('10000')}`;
}

describe('your own Envoy, then Codex for a team', () => {
  test('Codex runs a command and answers over a WebSocket, knows its model, and warns of nothing', async () => {
    const url = await followYourOwnEnvoy();
    upstream.script('/v1/models?client_version=0.171.0', { body: [modelList] });
    upstream.script('tiny', call('exec_command', { cmd: 'ls' }), answer({ text: 'It is empty.' }));
    codex = createCodex({ url, model: 'tiny', provider: { page: teamGuide } });
    const run = await codex.exec('List the files of this folder and tell me what the project is.');

    expect(run).toMatchObject({ code: 0, answer: 'It is empty.' });
    expect(`${run.stderr}\n${JSON.stringify(run.events)}`).not.toMatch(warnings);
    expect(upstream.received('tiny')).toHaveLength(2);
    expect(await service?.metric('responses_extproc_websocket_turns_total', { outcome: 'completed' })).toBeGreaterThan(
      1,
    );
  });

  test('so it does where Envoy asks for the keys of “Authentication, limits and token budgets”, and the Chat server sees no key', async () => {
    const [keys = '', websocketKeys = ''] = codeBlocks(read('docs/guides/limits-and-budgets.md'), 'yaml');
    const url = await followYourOwnEnvoy((text) => {
      const config = parse(text) as EnvoyConfig;
      putBefore(config, [keys]);
      Object.assign(findEnvoyRoute(config, 'websocket').typed_per_filter_config ?? {}, parse(websocketKeys));
      return stringify(config);
    });
    upstream.script('/v1/models?client_version=0.171.0', { body: [modelList] });
    upstream.script('tiny', call('exec_command', { cmd: 'ls' }), answer({ text: 'It is empty.' }));
    codex = createCodex({ url, model: 'tiny', key: 'key-of-team-a', provider: { page: teamGuide } });
    const run = await codex.exec('List the files of this folder and tell me what the project is.');

    expect(run).toMatchObject({ code: 0, answer: 'It is empty.' });
    expect(`${run.stderr}\n${JSON.stringify(run.events)}`).not.toMatch(warnings);
    const clients = upstream.received('tiny').map(({ headers }) => [headers['x-client'], headers.authorization]);
    expect(clients).toEqual([
      ['team-a', undefined],
      ['team-a', undefined],
    ]);
    expect(await service?.metric('responses_extproc_websocket_turns_total', { outcome: 'completed' })).toBeGreaterThan(
      1,
    );
    const stranger = await fetch(`${url}/v1/responses`, { method: 'POST', body: '{"model":"tiny","input":"Hi"}' });
    expect(stranger.status).toBe(401);
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
