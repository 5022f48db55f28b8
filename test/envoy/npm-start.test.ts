import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer as createHttps } from 'node:https';
import { type AddressInfo, createServer as createTcp } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { OpenAI } from 'openai';
import { afterEach, describe, expect, test } from 'vitest';
import { findEnvoy } from '../../tools/mesh/envoy-binary.ts';
import { anyFreePort } from '../../tools/mesh/ports.ts';
import { createAuthority } from '../support/certificates.ts';
import { createOtherValues } from '../support/other-values.ts';
import { completion, startScriptedUpstream } from '../support/upstream.ts';

const main = join(import.meta.dirname, '../../tools/mesh/main.ts');
const started: ChildProcess[] = [];
afterEach(() => {
  for (const child of started.splice(0)) child.kill('SIGKILL'); // its watchdog ends what it started
});

/** Runs what `npm start` runs. */
function startMesh(args: readonly string[], environment: Record<string, string> = {}) {
  const child = spawn(process.execPath, [main, ...args], {
    env: { ...process.env, npm_lifecycle_event: 'start', ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  started.push(child);
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (text) => {
    stdout += text;
  });
  child.stderr.on('data', (text) => {
    stderr += text;
  });
  const exit = new Promise<number | null>((resolve) => child.once('close', resolve));
  return {
    child,
    exit,
    stdout: () => stdout,
    stderr: () => stderr,
    /** The address in its `ready` line. */
    ready(): Promise<string> {
      return this.says(/^ready (http:\/\/127\.0\.0\.1:\d+\/v1)$/m);
    },
    /** The address in the line that stands there when the upstream is not usable. */
    warns(): Promise<string> {
      return this.says(/^WARNING (http:\/\/127\.0\.0\.1:\d+\/v1) is open, its upstream is not usable: /m);
    },
    async says(line: RegExp): Promise<string> {
      for (;;) {
        const url = line.exec(stdout)?.[1];
        if (url !== undefined) return url;
        if (child.exitCode !== null) throw new Error(`ended with ${child.exitCode}:\n${stdout}${stderr}`);
        await sleep(20);
      }
    },
    /** The processes it started, by the end of their command lines. */
    async children(): Promise<Map<string, number>> {
      const { stdout: list } = await run('ps', ['-A', '-o', 'ppid=,pid=,args=']);
      const rows = [...list.matchAll(/^\s*(\d+)\s+(\d+)\s+(.*)$/gm)];
      const own = rows.filter(([, parent]) => Number(parent) === child.pid);
      const nameOf = (command: string) =>
        command.includes('envoy.json') ? 'envoy' : command.includes('src/main.ts') ? 'service' : 'watchdog';
      return new Map(own.map(([, , pid, command = '']) => [nameOf(command), Number(pid)]));
    },
  };
}

async function run(command: string, args: readonly string[]) {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  let stdout = '';
  child.stdout.on('data', (text) => {
    stdout += text;
  });
  await new Promise((resolve) => child.once('close', resolve));
  return { stdout };
}

const inspectorLine = /^See each request and what it becomes: (\S+)$/m;

/** The exchanges that the inspector at this address lists, as the page is told when it opens. */
async function listedBy(page: string): Promise<string[]> {
  const response = await fetch(`${page}/events`);
  let text = '';
  for await (const piece of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    text += Buffer.from(piece).toString();
    const [, data] = /^event: list\ndata: (.*)\n\n/.exec(text) ?? [];
    if (data === undefined) continue;
    const { rows } = JSON.parse(data) as { readonly rows: readonly Readonly<Record<string, unknown>>[] };
    return rows.map(({ model, outcome, status }) => `${model} ${outcome} ${status}`);
  }
  throw new Error(`no list in ${text}`);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

async function untilGone(pids: Iterable<number>): Promise<void> {
  for (const pid of pids) while (isAlive(pid)) await sleep(20);
}

describe('npm start', () => {
  test('answers through Envoy, the service and the embedded upstream, within seconds', async () => {
    const before = performance.now();
    const mesh = startMesh(['--port', String(await anyFreePort())]);
    const url = await mesh.ready();
    console.log(`ready after ${((performance.now() - before) / 1000).toFixed(1)} s`);

    const client = new OpenAI({ baseURL: url, apiKey: 'none', maxRetries: 0 });
    const response = await client.responses.stream({ model: 'demo', input: 'Hello there' }).finalResponse();
    expect(response.output_text).toBe('You said: Hello there');
    expect((await client.models.list()).data.map((model) => model.id)).toContain('demo-reasoning');
  });

  test('prints a curl that works when pasted', async () => {
    const mesh = startMesh(['--port', String(await anyFreePort())]);
    await mesh.ready();
    await expect.poll(mesh.stdout).toMatch(/curl .*'\n/s);
    const command = /curl .*'\n/s.exec(mesh.stdout())?.[0] ?? '';
    const { stdout } = await run('bash', ['-c', command.replace('curl', 'curl -s')]);
    expect(stdout).toMatch(/^event: response.created\ndata: /);
    expect(stdout).toContain('event: response.completed\n');
  });

  test('the embedded upstream calls tools, keeps to schemas, sees images and thinks', async () => {
    const mesh = startMesh(['--port', String(await anyFreePort())]);
    const client = new OpenAI({ baseURL: await mesh.ready(), apiKey: 'none', maxRetries: 0 });
    const parameters = {
      type: 'object',
      properties: { city: { type: 'string' } },
      required: ['city'],
      additionalProperties: false,
    };
    const question = 'What is the weather in Paris and Rome?';
    const tools = [{ type: 'function', name: 'get_weather', parameters, strict: true } as const];

    const turn = await client.responses.stream({ model: 'demo', input: question, tools }).finalResponse();
    const calls = turn.output.filter((item) => item.type === 'function_call');
    expect(calls.map((call) => call.arguments)).toEqual(['{"city":"Paris"}', '{"city":"Rome"}']);
    const outputs = calls.map(({ call_id, arguments: given }) => ({
      type: 'function_call_output' as const,
      call_id,
      output: `sunny ${given}`,
    }));
    const input = [
      { role: 'user' as const, content: question },
      ...calls,
      ...outputs,
    ] as OpenAI.Responses.ResponseInput;
    const end = await client.responses.create({ model: 'demo', input, tools });
    expect(end.output_text).toBe('The tools returned: sunny {"city":"Paris"} | sunny {"city":"Rome"}');

    const object = await client.responses.create({
      model: 'demo',
      input: 'Anything',
      text: { format: { type: 'json_schema', name: 'place', schema: parameters, strict: true } },
    });
    expect(JSON.parse(object.output_text)).toEqual({ city: 'example' });

    const thought = await client.responses.create({ model: 'demo-reasoning', input: 'Hi' });
    expect(thought.output.map((item) => item.type)).toEqual(['reasoning', 'message']);

    const image = { type: 'input_image', image_url: 'data:image/png;base64,AAAA', detail: 'auto' } as const;
    const seen = await client.responses.create({
      model: 'demo',
      input: [{ role: 'user', content: [{ type: 'input_text', text: 'What is it?' }, image] }],
    });
    expect(seen.output_text).toContain('I was shown 1 image.');

    await expect(client.responses.create({ model: 'demo-error-429', input: 'Hi' })).rejects.toMatchObject({
      status: 429,
    });
    await expect(client.responses.create({ model: 'gpt', input: 'Hi' })).rejects.toMatchObject({ status: 404 });
  });

  test('without --port it takes 10000 or the next free one', async () => {
    const urls = [await startMesh([]).ready(), await startMesh([]).ready()];
    const ports = urls.map((url) => Number(new URL(url).port));
    for (const port of ports) expect(port).toBeGreaterThanOrEqual(10000);
    for (const port of ports) expect(port).toBeLessThan(10100);
    expect(ports[0]).not.toBe(ports[1]);
  });

  test.each<NodeJS.Signals>(['SIGINT', 'SIGTERM'])('%s ends every process, with exit code 0', async (signal) => {
    const mesh = startMesh(['--port', String(await anyFreePort())]);
    await mesh.ready();
    const children = await mesh.children();
    expect([...children.keys()].sort()).toEqual(['envoy', 'service', 'watchdog']);

    mesh.child.kill(signal);

    expect(await mesh.exit).toBe(0);
    await untilGone(children.values());
  });

  test.each(['envoy', 'service'])('when %s is killed the mesh says so, ends the rest and fails', async (name) => {
    const mesh = startMesh(['--port', String(await anyFreePort())]);
    await mesh.ready();
    const children = await mesh.children();

    process.kill(children.get(name) ?? 0, 'SIGKILL');

    expect(await mesh.exit).toBe(1);
    expect(mesh.stderr()).toContain(`The mesh stops: ${name} ended (signal SIGKILL).`);
    await untilGone(children.values());
  });

  test('even when the mesh itself is killed with SIGKILL nothing is left behind', async () => {
    const mesh = startMesh(['--port', String(await anyFreePort())]);
    await mesh.ready();
    const children = await mesh.children();
    expect(children.size).toBeGreaterThan(0);
    mesh.child.kill('SIGKILL');
    await untilGone(children.values());
  });

  test('options that npm kept for itself are told to need a --', async () => {
    const mesh = startMesh([], { npm_config_port: '1' }); // what `npm start --port 1` becomes
    expect(await mesh.exit).toBe(1);
    expect(mesh.stderr()).toBe('npm kept --port for itself. Put -- before the options: npm start -- --port …\n');
  });

  test('its own probe is in no log and not in the inspector, and requests are', async () => {
    const mesh = startMesh(['--port', String(await anyFreePort())]);
    const url = await mesh.ready();
    const page = await mesh.says(inspectorLine);
    expect(await listedBy(page)).toEqual([]);
    await new OpenAI({ baseURL: url, apiKey: 'k', maxRetries: 0 }).responses.create({ model: 'demo', input: 'Hi' });
    const exchanges = () => mesh.stderr().match(/^service \| .*"msg":"exchange"/gm);
    const accesses = () => mesh.stderr().match(/^envoy {3}\| .*"path":"\/v1\/chat\/completions"/gm);
    await expect.poll(exchanges).toHaveLength(1);
    await expect.poll(accesses).toHaveLength(1);
    expect(await listedBy(page)).toEqual(['demo completed 200']);
    // What the page itself asks the upstream for is not listed either.
    const models = (await (await fetch(`${page}/models`)).json()) as { readonly models: readonly string[] };
    expect(models.models).toContain('demo');
    expect(await listedBy(page)).toEqual(['demo completed 200']);
  });

  test('a wrong variable of the service stops the start with its name', async () => {
    const mesh = startMesh(['--port', String(await anyFreePort())], { MAX_TOOLS: 'many' });
    expect(await mesh.exit).toBe(1);
    expect(mesh.stderr()).toMatch(
      /service \| .*Configuration: MAX_TOOLS: must be a whole number from 1 to 100000 \(got \\"many\\"\)/,
    );
    expect(mesh.stderr()).toContain('The mesh stops: service ended (exit code 1).');
  });

  test('a port that is taken stops the start', async () => {
    const other = createTcp().listen(0, '127.0.0.1');
    await new Promise((resolve) => other.once('listening', resolve));
    const { port } = other.address() as AddressInfo;
    const mesh = startMesh(['--port', String(port)]);
    expect(await mesh.exit).toBe(1);
    expect(mesh.stderr()).toContain(`Port ${port} is taken; choose another with --port.`);
    other.close();
  });
});

test('with each variable of --help set to another value it is ready, or says what is wrong', async () => {
  findEnvoy(process.env); // installs it, where it is missing, before there is a proxy
  const others = createOtherValues();
  const refused: Readonly<Record<string, RegExp>> = {
    UPSTREAM_PATH: /404 .*No such path: \/elsewhere/,
    MAX_TEXT_BYTES: /400 .*string_above_max_length/,
  };
  const taken = Object.entries(others.values).filter(([name]) => !(name in refused));
  expect(taken.length).toBeGreaterThan(60);
  const proxy = `http://127.0.0.1:${await anyFreePort()}`; // nobody is there
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
      const mesh = startMesh(['--port', String(await anyFreePort())], environment);
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
      ...['--port', String(await anyFreePort()), '--upstream', `http://127.0.0.1:${upstream.port}/prefix/v1/`],
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
    const options = ['--port', String(await anyFreePort()), '--upstream', `http://127.0.0.1:${upstream.port}/v1`];
    const mesh = startMesh([...options, '--profile', 'mine'], { UPSTREAM_PROFILES_FILE: file });
    const client = new OpenAI({ baseURL: await mesh.ready(), apiKey: 'k', maxRetries: 0 });
    expect((await client.responses.create({ model: 'mine', input: 'Hi' })).output_text).toBe('Seen.');
    await expect.poll(mesh.stderr).toContain('"profile":"mine"');
    await upstream.close();
  });

  test('without a key the client’s own authorization goes through', async () => {
    const upstream = await startScriptedUpstream();
    upstream.script('m', { body: [completion({ content: 'Yes.' })] });
    upstream.script('/v1/models', { body: ['{"data":[{"id":"m"}]}'] });
    const mesh = startMesh([
      '--port',
      String(await anyFreePort()),
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
    const args = ['--port', String(await anyFreePort()), '--upstream', `https://localhost:${port}/v1`];

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
});

test('its own address as --upstream is refused before anything starts', async () => {
  const port = await anyFreePort();
  const mesh = startMesh(['--port', String(port), '--upstream', `http://localhost:${port}/v1`], {
    ENVOY_BIN: '/nowhere',
  });
  expect(await mesh.exit).toBe(1);
  expect(mesh.stderr()).toBe(
    `Nothing listens at http://localhost:${port}/v1, and this is where npm start would: it would ask itself. Start the Chat server first, or correct --upstream.\n`,
  );
});

describe('what it prints is true', () => {
  test('of an upstream that is not there', async () => {
    const nobody = await anyFreePort();
    const mesh = startMesh(['--port', String(await anyFreePort()), '--upstream', `http://127.0.0.1:${nobody}/v1`]);
    await mesh.warns();
    expect(mesh.stdout()).toContain(
      `http://127.0.0.1:${nobody}/v1: nothing listens at 127.0.0.1:${nobody} (ECONNREFUSED). Start the server`,
    );
  });

  test('of the inspector, which is right after the port of clients, or where ADMIN_LISTEN says', async () => {
    const port = await anyFreePort();
    const usual = startMesh(['--port', String(port)]);
    const page = await usual.says(inspectorLine);
    expect(Number(new URL(page).port)).toBeGreaterThan(port);
    const admin = await anyFreePort();
    const moved = startMesh(['--port', String(await anyFreePort())], { ADMIN_LISTEN: `0.0.0.0:${admin}` });
    const there = await moved.says(inspectorLine);
    expect(there).toBe(`http://127.0.0.1:${admin}/inspect`);
    expect(moved.stdout()).toContain(`metrics: http://127.0.0.1:${admin}/metrics`);
    for (const url of [page, there]) expect((await fetch(url)).status).toBe(200);
    const off = startMesh(['--port', String(await anyFreePort())], { ADMIN_LISTEN: 'off' });
    await off.says(/(metrics: off) \(ADMIN_LISTEN\)/);
    expect(off.stdout()).not.toContain('/inspect');
  });

  test('of each request, in one short line where LOG_FORMAT=short, as in a terminal', async () => {
    const mesh = startMesh(['--port', String(await anyFreePort())], { LOG_FORMAT: 'short' });
    const client = new OpenAI({ baseURL: await mesh.ready(), apiKey: 'k', maxRetries: 0 });
    await client.responses.create({ model: 'demo', input: 'Hi' });
    await client.models.list();
    const lines = () => mesh.stderr().match(/^\d\d:\d\d:\d\d {2}.*$/gm);
    await expect.poll(lines).toHaveLength(2);
    expect(lines()?.join('\n')).toMatch(/ demo {2}completed {2}\d+ in, \d+ out {2}\d+ ms$/m);
    expect(lines()?.join('\n')).toMatch(/ GET \/v1\/models {2}200 {2}\d+ ms$/m);
  });
});

describe('its command line', () => {
  test('--help says what there is', async () => {
    const mesh = startMesh(['--help']);
    expect(await mesh.exit).toBe(0);
    for (const flag of ['--port', '--upstream', '--upstream-key', '--profile']) expect(mesh.stdout()).toContain(flag);
  });

  test.each([
    [['--port', 'high'], '--port must be from 1 to 65535, not "high".'],
    [
      ['--upstream', 'localhost:8000'],
      '--upstream must be a URL such as http://127.0.0.1:8000/v1, not "localhost:8000".',
    ],
    [['--upstream', 'http://x/v1?key=1'], '--upstream takes no user name, query or fragment'],
    [['--upstream-key', 'k'], '--upstream-key needs --upstream.'],
    [['--profile', 'a/profiles.yaml'], 'UPSTREAM_PROFILES_FILE=a/profiles.yaml npm start -- … --profile NAME'],
    [['--profile', 'abacus'], '--profile must be one of: generic'],
    [['--prot', '1'], "Unknown option '--prot'"],
  ])('%j is refused in words', async (args, message) => {
    const mesh = startMesh(args);
    expect(await mesh.exit).toBe(1);
    expect(mesh.stderr()).toContain(message);
  });
});
