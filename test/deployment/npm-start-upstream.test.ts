import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer as createHttps } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { OpenAI } from 'openai';
import { afterEach, describe, expect, test } from 'vitest';
import { findFreePort } from '../../mesh/ports.ts';
import { settingsIn } from '../../src/service/settings/setting.ts';
import { settings } from '../../src/service/settings/settings-table.ts';
import { createAuthority } from '../support/certificates.ts';
import { inspectorLine, listedBy, type NpmStart, npmStart } from '../support/npm-start.ts';
import { createOtherValues } from '../support/other-values.ts';
import { type Behaviour, withServer } from '../support/probed-server.ts';
import { runDoctor } from '../support/run-doctor.ts';
import { completion, startScriptedUpstream } from '../support/upstream.ts';

const started: ChildProcess[] = [];
afterEach(() => {
  for (const child of started.splice(0)) child.kill('SIGKILL'); // its watchdog ends what it started
});

function startMesh(args: readonly string[], environment: Record<string, string> = {}): NpmStart {
  const mesh = npmStart(args, environment);
  started.push(mesh.child);
  return mesh;
}

test('with each variable of --help set to another value it is ready, or says what is wrong', async () => {
  const others = createOtherValues();
  const refused: Readonly<Record<string, RegExp>> = {
    UPSTREAM_PATH: /404 .*No such path: \/elsewhere/,
    MAX_TEXT_BYTES: /400 .*string_above_max_length/,
  };
  const taken = Object.entries(others.values).filter(([name]) => !(name in refused));
  expect(taken).toHaveLength(settingsIn(settings).length - Object.keys(refused).length);
  const proxy = `http://127.0.0.1:${await findFreePort()}`; // nobody is there
  const proxies = { NODE_USE_ENV_PROXY: '1', HTTP_PROXY: proxy, HTTPS_PROXY: proxy, NO_PROXY: '', no_proxy: '' };
  const runs: [Record<string, string>, RegExp][] = [
    // All at once: one that kept it from being ready would do so among others too.
    // INSPECT is on here unless it is set, and `on` contradicts WORKERS=2.
    [{ ...Object.fromEntries(taken), INSPECT: 'off' }, /^(ready) /m],
    [proxies, /^(ready) /m],
    ...Object.entries(refused).map(([name, { source }]): [Record<string, string>, RegExp] => [
      { [name]: others.values[name] ?? '' },
      new RegExp(`^(WARNING) http\\S+ is open, but npm start’s own request got ${source}`, 'm'),
    ]),
  ];
  await Promise.all(
    runs.map(async ([environment, line]) => {
      const mesh = startMesh(['--port', String(await findFreePort())], environment);
      await mesh.says(line);
    }),
  );
  others.remove();
});

describe('npm start -- --upstream URL', () => {
  test('puts a real server behind it: path prefix, key, profile', async () => {
    const upstream = await startScriptedUpstream();
    upstream.script('/prefix/v1/models', { body: ['{"data":[{"id":"their-model"}]}'] });
    upstream.script('their-model', { body: [completion({ content: 'Real.' })] });
    const mesh = startMesh([
      ...['--port', String(await findFreePort()), '--upstream', `http://127.0.0.1:${upstream.port}/prefix/v1/`],
      ...['--upstream-key', 'sk-100%', '--profile', 'vllm'],
    ]);
    const url = await mesh.ready();
    await expect.poll(mesh.stdout).toContain('"model":"their-model"');
    expect(await listedBy(await mesh.says(inspectorLine))).toEqual([]);

    const client = new OpenAI({ baseURL: url, apiKey: 'of-the-client', maxRetries: 0 });
    expect((await client.responses.create({ model: 'their-model', input: 'Hi' })).output_text).toBe('Real.');
    expect((await client.models.list()).data).toMatchObject([{ id: 'their-model' }]);

    const [request] = upstream.received('their-model');
    expect(request).toMatchObject({
      path: '/prefix/v1/chat/completions',
      headers: { authorization: 'Bearer sk-100%', host: `127.0.0.1:${upstream.port}` },
    });
    await expect.poll(mesh.stderr).toContain('"profile":"vllm"');
    expect(mesh.stderr()).not.toContain('sk-100%');
    await upstream.close();
  });

  test('takes a profile of UPSTREAM_PROFILES_FILE', async () => {
    const upstream = await startScriptedUpstream();
    upstream.script('mine', { body: [completion({ content: 'Seen.' })] });
    upstream.script('/v1/models', { body: ['{"data":[{"id":"mine"}]}'] });
    const file = join(mkdtempSync(join(tmpdir(), 'profiles-')), 'profiles.yaml');
    writeFileSync(file, 'profiles: { mine: { extends: vllm, image: omit } }');
    const options = ['--port', String(await findFreePort()), '--upstream', `http://127.0.0.1:${upstream.port}/v1`];
    const mesh = startMesh([...options, '--profile', 'mine'], { UPSTREAM_PROFILES_FILE: file });
    const client = new OpenAI({ baseURL: await mesh.ready(), apiKey: 'k', maxRetries: 0 });
    expect((await client.responses.create({ model: 'mine', input: 'Hi' })).output_text).toBe('Seen.');
    await expect.poll(mesh.stderr).toContain('"profile":"mine"');
    await upstream.close();
  });

  test('as doctor prints it last, for a server of which nothing was known, has the profile that doctor found', async () => {
    const models = { status: 200, body: '{"data":[{"id":"theirs"}]}' };
    const behaviour: Behaviour = {
      respond: (path) => (path === '/v1/models' ? models : null),
      check({ parallel_tool_calls }) {
        if (parallel_tool_calls !== undefined) throw new Error('parallel_tool_calls: unknown field');
      },
    };
    await withServer(behaviour, async (_server, url) => {
      const file = join(mkdtempSync(join(tmpdir(), 'profiles-')), 'profiles.yaml');
      const { code, out } = await runDoctor([`${url}/v1`, '--model', 'theirs', '--save', file]);
      expect(code).toBe(0);
      const printed = /^To try it in a clone:\n {2}(?:(\S+)=(\S+) )?npm start -- (.*)$/m.exec(out);
      const [, variable, value = '', options = ''] = printed ?? [];
      const environment = variable === undefined ? {} : { [variable]: value };
      const mesh = startMesh([...options.split(' '), '--port', String(await findFreePort())], environment);
      const client = new OpenAI({ baseURL: await mesh.ready(), apiKey: 'k', maxRetries: 0 });
      const tools = [{ type: 'function', name: 'look', parameters: {}, strict: false }] as const;
      const request = { model: 'theirs', input: 'Hi', tools: [...tools], parallel_tool_calls: true };
      // By the profile for unknown servers the field would be sent, and refused.
      expect((await client.responses.create(request)).output_text).toBe('hello');
    });
  });

  test('without a key the client’s own authorization goes through', async () => {
    const upstream = await startScriptedUpstream();
    upstream.script('m', { body: [completion({ content: 'Yes.' })] });
    upstream.script('/v1/models', { body: ['{"data":[{"id":"m"}]}'] });
    const mesh = startMesh([
      '--port',
      String(await findFreePort()),
      '--upstream',
      `http://localhost:${upstream.port}/v1`,
    ]);
    const client = new OpenAI({ baseURL: await mesh.ready(), apiKey: 'of-the-client', maxRetries: 0 });
    await client.responses.create({ model: 'm', input: 'Hi' });
    expect(upstream.received('m')[0]?.headers.authorization).toBe('Bearer of-the-client');
    await upstream.close();
  });

  test('over https, with a certificate that Node trusts', async () => {
    const authority = createAuthority('authority-of-the-test');
    const { certFile, keyFile } = authority.issue('upstream');
    const files = { cert: readFileSync(certFile), key: readFileSync(keyFile) };
    const server = createHttps(files, (_request, response) => {
      response.setHeader('content-type', 'application/json').end(completion({ content: 'Secret.' }));
    }).listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const { port } = server.address() as AddressInfo;
    const args = ['--port', String(await findFreePort()), '--upstream', `https://localhost:${port}/v1`];

    const mesh = startMesh(args, { NODE_EXTRA_CA_CERTS: authority.caFile });
    const trusted = new OpenAI({ baseURL: await mesh.ready(), apiKey: 'k', maxRetries: 0 });
    expect((await trusted.responses.create({ model: 'm', input: 'Hi' })).output_text).toBe('Secret.');
    mesh.child.kill('SIGTERM');
    await mesh.exit;

    const distrustful = startMesh(args);
    const refused = new OpenAI({ baseURL: await distrustful.warns(), apiKey: 'k', maxRetries: 0 });
    expect(distrustful.stdout()).toMatch(
      /^WARNING .*https:\/\/localhost:\d+\/v1: its certificate is not trusted here .* Set NODE_EXTRA_CA_CERTS /m,
    );
    expect(distrustful.stdout()).not.toMatch(/^ready/m);
    await expect(refused.responses.create({ model: 'm', input: 'Hi' })).rejects.toMatchObject({ status: 503 });
    server.close();
    server.closeAllConnections();
    authority.remove();
  });

  test('says what is wrong with one that is not there', async () => {
    const nobody = await findFreePort();
    const mesh = startMesh(['--port', String(await findFreePort()), '--upstream', `http://127.0.0.1:${nobody}/v1`]);
    await mesh.warns();
    expect(mesh.stdout()).toContain(
      `http://127.0.0.1:${nobody}/v1: nothing listens at 127.0.0.1:${nobody} (ECONNREFUSED). Start the server`,
    );
  });
});

test('its own address as --upstream is refused before anything starts', async () => {
  const port = await findFreePort();
  const mesh = startMesh(['--port', String(port), '--upstream', `http://localhost:${port}/v1`], {
    ENVOY_BIN: '/nowhere',
  });
  expect(await mesh.exit).toBe(1);
  expect(mesh.stderr()).toBe(
    `Nothing listens at http://localhost:${port}/v1, and npm start would listen there itself. Start the Chat server first, or correct --upstream.\n`,
  );
});
