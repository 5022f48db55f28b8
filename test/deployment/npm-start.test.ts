import type { ChildProcess } from 'node:child_process';
import type { AddressInfo } from 'node:net';
import { createServer as createTcp } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { OpenAI } from 'openai';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { findFreePort } from '../../mesh/ports.ts';
import { inspectorLine, listedBy, type NpmStart, npmStart, run } from '../support/npm-start.ts';

const started: ChildProcess[] = [];
afterEach(() => {
  for (const child of started.splice(0)) child.kill('SIGKILL'); // its watchdog ends what it started
});

function startMesh(args: readonly string[], environment: Record<string, string> = {}): NpmStart {
  const mesh = npmStart(args, environment);
  started.push(mesh.child);
  return mesh;
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
  /** For all that does not end it: a start takes seconds of CPU time. */
  let first: NpmStart;
  let second: NpmStart;
  beforeAll(async () => {
    first = npmStart([]);
    await first.ready();
    second = npmStart([], { LOG_FORMAT: 'short' });
    await second.ready();
  });
  afterAll(() => {
    for (const mesh of [first, second]) mesh.child.kill('SIGKILL');
  });

  test('its own probe is in no log and not in the inspector, and requests are', async () => {
    const url = await first.ready();
    const page = await first.says(inspectorLine);
    expect(await listedBy(page)).toEqual([]);
    await new OpenAI({ baseURL: url, apiKey: 'k', maxRetries: 0 }).responses.create({ model: 'demo', input: 'Hi' });
    const exchanges = () => first.stderr().match(/^service \| .*"msg":"exchange"/gm);
    const accesses = () => first.stderr().match(/^envoy {3}\| .*"path":"\/v1\/chat\/completions"/gm);
    await expect.poll(exchanges).toHaveLength(1);
    await expect.poll(accesses).toHaveLength(1);
    expect(await listedBy(page)).toEqual(['demo completed 200']);
    // What the page itself asks the upstream for is not listed either.
    const models = (await (await fetch(`${page}/models`)).json()) as { readonly models: readonly string[] };
    expect(models.models).toContain('demo');
    expect(await listedBy(page)).toEqual(['demo completed 200']);
  });

  test('answers through Envoy, the service and the embedded upstream', async () => {
    const client = new OpenAI({ baseURL: await first.ready(), apiKey: 'none', maxRetries: 0 });
    const response = await client.responses.stream({ model: 'demo', input: 'Hello there' }).finalResponse();
    expect(response.output_text).toBe('You said: Hello there');
    expect((await client.models.list()).data.map((model) => model.id)).toContain('demo-reasoning');
  });

  test('prints a curl that works when pasted', async () => {
    await expect.poll(first.stdout).toMatch(/curl .*'\n/s);
    const command = /curl .*'\n/s.exec(first.stdout())?.[0] ?? '';
    const { stdout } = await run('bash', ['-c', command.replace('curl', 'curl -s')]);
    expect(stdout).toMatch(/^event: response.created\ndata: /);
    expect(stdout).toContain('event: response.completed\n');
  });

  test('the embedded upstream calls tools, keeps to schemas, sees images and thinks', async () => {
    const client = new OpenAI({ baseURL: await first.ready(), apiKey: 'none', maxRetries: 0 });
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
    const urls = [await first.ready(), await second.ready()];
    const ports = urls.map((url) => Number(new URL(url).port));
    for (const port of ports) expect(port).toBeGreaterThanOrEqual(10000);
    for (const port of ports) expect(port).toBeLessThan(10100);
    expect(ports[0]).not.toBe(ports[1]);
  });

  test('says each request in one short line where LOG_FORMAT=short, as in a terminal', async () => {
    const client = new OpenAI({ baseURL: await second.ready(), apiKey: 'k', maxRetries: 0 });
    await client.responses.create({ model: 'demo', input: 'Hi' });
    await client.models.list();
    const lines = () => second.stderr().match(/^\d\d:\d\d:\d\d {2}.*$/gm);
    await expect.poll(lines).toHaveLength(2);
    expect(lines()?.join('\n')).toMatch(/ demo {2}completed {2}\d+ in, \d+ out {2}\d+ ms$/m);
    expect(lines()?.join('\n')).toMatch(/ GET \/v1\/models {2}200 {2}\d+ ms$/m);
    // What is of no interest is not shown at all.
    expect(second.stderr()).not.toMatch(/^null$/m);
  });

  test('says where the inspector is: right after the port of clients, or where ADMIN_LISTEN says', async () => {
    const page = await first.says(inspectorLine);
    expect(Number(new URL(page).port)).toBeGreaterThan(Number(new URL(await first.ready()).port));
    const admin = await findFreePort();
    const moved = startMesh(['--port', String(await findFreePort())], { ADMIN_LISTEN: `0.0.0.0:${admin}` });
    const there = await moved.says(inspectorLine);
    expect(there).toBe(`http://127.0.0.1:${admin}/inspect`);
    expect(moved.stdout()).toContain(`metrics: http://127.0.0.1:${admin}/metrics`);
    for (const url of [page, there]) expect((await fetch(url)).status).toBe(200);
    const off = startMesh(['--port', String(await findFreePort())], { ADMIN_LISTEN: 'off' });
    await off.says(/(metrics: off) \(ADMIN_LISTEN\)/);
    expect(off.stdout()).not.toContain('/inspect');
  });

  test.each([
    ['SIGINT', () => first],
    ['SIGTERM', () => second],
  ] as const)('%s ends every process, with exit code 0', async (signal, which) => {
    const mesh = which();
    const children = await mesh.children();
    expect([...children.keys()].sort()).toEqual(['envoy', 'service', 'watchdog']);

    mesh.child.kill(signal);

    expect(await mesh.exit).toBe(0);
    await untilGone(children.values());
  });

  test.each(['envoy', 'service'])('when %s is killed the mesh says so, ends the rest and fails', async (name) => {
    const mesh = startMesh(['--port', String(await findFreePort())]);
    await mesh.ready();
    const children = await mesh.children();

    process.kill(children.get(name) ?? 0, 'SIGKILL');

    expect(await mesh.exit).toBe(1);
    expect(mesh.stderr()).toContain(`npm start stops: ${name} ended (signal SIGKILL).`);
    await untilGone(children.values());
  });

  test('even when the mesh itself is killed with SIGKILL nothing is left behind', async () => {
    const mesh = startMesh(['--port', String(await findFreePort())]);
    await mesh.ready();
    const children = await mesh.children();
    expect(children.size).toBeGreaterThan(0);
    mesh.child.kill('SIGKILL');
    await untilGone(children.values());
  });

  test('options that npm kept for itself are told to need a --', async () => {
    const mesh = startMesh([], { npm_config_port: '1' }); // what `npm start --port 1` becomes
    expect(await mesh.exit).toBe(2);
    expect(mesh.stderr()).toBe('npm kept --port for itself. Put -- before the options: npm start -- --port …\n');
  });

  test('a wrong variable of the service stops the start with its name', async () => {
    const mesh = startMesh(['--port', String(await findFreePort())], { MAX_TOOLS: 'many' });
    expect(await mesh.exit).toBe(1);
    expect(mesh.stderr()).toMatch(
      /service \| .*Configuration: MAX_TOOLS: must be a whole number from 1 to 100000 \(got \\"many\\"\)/,
    );
    expect(mesh.stderr()).toContain('npm start stops: service ended (exit code 1).');
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

describe('its command line', () => {
  test('--help says what there is', async () => {
    const mesh = startMesh(['--help']);
    expect(await mesh.exit).toBe(0);
    for (const flag of ['--port', '--upstream', '--upstream-key', '--profile']) expect(mesh.stdout()).toContain(flag);
  });
});
