import { execFile, execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import OpenAI from 'openai';
import { DockerComposeEnvironment, type StartedDockerComposeEnvironment, Wait } from 'testcontainers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startEmbeddedUpstream } from '../../mesh/upstream.ts';
import { imageFlags } from '../support/image-flags.ts';

/** `docker-compose.yml` as it is shipped: what the README tells to run, run. */
const root = join(import.meta.dirname, '../..');
const image = 'responses-extproc:test';
const origin = { REVISION: '0123456789abcdef', SOURCE: 'https://git.example/responses-extproc' };
const secretWord = 'xylophone-7391'; // what a client says must appear in no log

let mesh: StartedDockerComposeEnvironment;

beforeAll(async () => {
  mesh = await new DockerComposeEnvironment(root, 'docker-compose.yml')
    .withEnvironment({ ...process.env, SERVICE_IMAGE: image, ENVOY_PORT: '0', ADMIN_PORT: '0', ...origin } as Record<
      string,
      string
    >)
    .withBuild()
    .withDefaultWaitStrategy(Wait.forHealthCheck())
    .up();
});
afterAll(async () => {
  await mesh?.down({ timeout: 5_000, removeVolumes: true });
});

const service = () => mesh.getContainer('service-1');
const envoyUrl = () => `http://127.0.0.1:${mesh.getContainer('envoy-1').getMappedPort(10_000)}`;
const adminUrl = (path: string) => `http://127.0.0.1:${service().getMappedPort(9_090)}${path}`;
const client = () => new OpenAI({ baseURL: `${envoyUrl()}/v1`, apiKey: 'unused', maxRetries: 0 });

describe('the image', () => {
  const inspect = (format: string) =>
    execFileSync('docker', ['image', 'inspect', '--format', format, image], { encoding: 'utf8' }).trim();

  it('says its version, the one of package.json', () => {
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
    expect(inspect('{{index .Config.Labels "org.opencontainers.image.version"}}')).toBe(version);
  });

  it('says what it was built from', () => {
    expect(inspect('{{index .Config.Labels "org.opencontainers.image.revision"}}')).toBe(origin.REVISION);
    expect(inspect('{{index .Config.Labels "org.opencontainers.image.source"}}')).toBe(origin.SOURCE);
  });

  it('runs as nobody in particular and has a health check', () => {
    expect(inspect('{{.Config.User}}')).toBe('65532:65532');
    expect(inspect('{{json .Config.Healthcheck.Test}}')).toContain('/app/dist/probe.js');
  });

  it('has no shell', async () => {
    for (const shell of ['sh', '/bin/sh', 'bash'])
      expect((await service().exec([shell, '-c', 'true'])).exitCode, shell).not.toBe(0);
  });

  it('holds Node and little else', () => {
    const node = Number(
      execFileSync(
        'docker',
        ['run', '--rm', '--entrypoint', 'node', image, '-p', 'fs.statSync(process.execPath).size'],
        { encoding: 'utf8' },
      ),
    );
    expect(Number(inspect('{{.Size}}')) - node).toBeLessThan(60 * 1024 * 1024);
  });

  it('has what V8 compiled of the service when it was built, and takes it', async () => {
    const script = `
      const cache = fs.readdirSync('/app/dist').find((name) => name.endsWith('.cache'));
      const source = fs.readFileSync('/app/dist/program.js', 'latin1');
      const cachedData = fs.readFileSync('/app/dist/' + cache);
      console.log(new vm.Script(source, { cachedData }).cachedDataRejected);`;
    expect((await service().exec(['node', ...imageFlags, '-e', script])).stdout.trim()).toBe('false');
  });

  it('has no file that its user could change, however its file system is mounted', () => {
    const script = `
      const isWritable = (file) => { try { fs.accessSync(file, fs.constants.W_OK); return true } catch { return false } };
      const files = fs.readdirSync('/app', { recursive: true }).map((file) => '/app/' + file);
      console.log(JSON.stringify(['/app', ...files].filter(isWritable)));`;
    const run = ['run', '--rm', '--entrypoint', 'node', image, '-e', script];
    expect(execFileSync('docker', run, { encoding: 'utf8' }).trim()).toBe('[]');
  });

  it('can write nowhere', async () => {
    const script = "try { fs.writeFileSync('/app/x', ''); } catch (error) { console.log(error.code) }";
    expect((await service().exec(['node', '-e', script])).stdout.trim()).toBe('EROFS');
  });
});

describe('the mesh', () => {
  it('answers its probes', async () => {
    for (const path of ['/healthz', '/readyz']) expect((await fetch(adminUrl(path))).status, path).toBe(200);
    expect((await service().exec(['node', '/app/dist/probe.js'])).exitCode).toBe(0);
  });

  it('answers with JSON', async () => {
    const response = await client().responses.create({ model: 'demo', input: `Say ${secretWord}` });
    expect(response.status).toBe('completed');
    expect(response.output_text).toContain(secretWord);
    expect(response.usage?.output_tokens).toBeGreaterThan(0);
  });

  it('streams: the first text is there while the answer still runs', async () => {
    // A minute and more of words, of which the client takes the first.
    const stream = client().responses.stream({ model: 'demo-slow', input: 'word '.repeat(300) });
    expect(await untilFirstText(stream)).toBe(true);
    const scrape = await (await fetch(adminUrl('/metrics'))).text();
    expect(scrape).toMatch(/^responses_extproc_active_exchanges 1$/m);
    stream.on('abort', () => {});
    stream.abort();
    await expect
      .poll(async () => (await fetch(adminUrl('/metrics'))).text())
      .toMatch(/^responses_extproc_active_exchanges 0$/m);
  });

  it('refuses what needs state, and says which field', async () => {
    await expect(client().responses.create({ model: 'demo', input: 'hi', store: true })).rejects.toMatchObject({
      status: 400,
      code: 'unsupported_value',
      param: 'store',
    });
  });

  it('lets other paths through', async () => {
    const models = await client().models.list();
    expect(models.data.map(({ id }) => id)).toContain('demo');
  });

  it('counts what went through', async () => {
    const scrape = await (await fetch(adminUrl('/metrics'))).text();
    expect(scrape).toMatch(/^responses_extproc_exchanges_total\{outcome="completed",profile="\w+"\} [1-9]/m);
    expect(scrape).toMatch(/^responses_extproc_refusals_total\{code="unsupported_value",profile="\w+"\} 1$/m);
    expect(scrape).toMatch(/^responses_extproc_tokens_total\{model="demo",type="output"\} [1-9]/m);
    expect(scrape).toMatch(/^responses_extproc_time_to_first_event_seconds_count\{profile="\w+"\} [1-9]/m);
  });

  it('logs a line for each exchange, with the ids of request and trace and without what was said', async () => {
    const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
    const answer = await fetch(`${envoyUrl()}/v1/responses`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-request-id': 'request-of-this-test',
        traceparent: `00-${traceId}-00f067aa0ba902b7-01`,
      },
      body: JSON.stringify({ model: 'demo', input: secretWord }),
    });
    expect(await answer.text()).toContain(secretWord);
    await expect.poll(logOfService).toContain('request-of-this-test');
    const log = await logOfService();
    const line = JSON.parse(log.split('\n').find((text) => text.includes('request-of-this-test')) ?? '{}');
    expect(line).toMatchObject({ trace_id: traceId, outcome: 'completed', status: 200, model: 'demo' });
    expect(log).not.toContain(secretWord);
  });
});

describe('a restart of the service while a stream runs', () => {
  it('loses nothing of the stream, and serves again afterwards', async () => {
    const words = Array.from({ length: 40 }, (_, n) => `word${n}`);
    const stream = client().responses.stream({ model: 'demo-slow', input: words.join(' ') });
    const [first] = await Promise.all([untilFirstText(stream), stream.emitted('connect').catch(() => {})]);
    expect(first).toBe(true);

    // Not by testcontainers, which gives a container no time to end by itself.
    const restarted = promisify(execFile)('docker', ['restart', '--time', '75', service().getId()]);
    const readiness = () => fetch(adminUrl('/readyz')).then(({ status }) => status, String);
    await expect.poll(readiness).toBe(503);

    const response = await stream.finalResponse();
    expect(response.status).toBe('completed');
    for (const word of words) expect(response.output_text).toContain(word);

    await restarted;
    expect(await logOfService()).toContain('"outcome":"drained"');
    await expect
      .poll(
        () =>
          client()
            .responses.create({ model: 'demo', input: 'hello' })
            .then(({ status }) => status, String),
        { interval: 500 },
      )
      .toBe('completed');
  });
});

describe('the mesh while the service is stuck', () => {
  it('answers with the error of the API, and lets other paths through', async () => {
    const id = service().getId();
    execFileSync('docker', ['pause', id]);
    try {
      // Envoy notices by its health checks.
      await expect
        .poll(
          () =>
            client()
              .responses.create({ model: 'demo', input: 'hello' })
              .then(String, (error) => error),
          {
            timeout: 240_000,
            interval: 1_000,
          },
        )
        .toMatchObject({ status: 504, code: 'gateway_timeout' });
      expect((await client().models.list()).data.length).toBeGreaterThan(0);
    } finally {
      execFileSync('docker', ['unpause', id]);
    }
  });
});

describe('two replicas of the service', () => {
  const environment = { ...process.env, SERVICE_IMAGE: image, ENVOY_PORT: '0', DRAIN_TIMEOUT_MS: '1000' };
  const compose = (...words: string[]) =>
    execFileSync('docker', ['compose', '--project-name', 'responses-extproc-scaled', ...words], {
      cwd: root,
      env: environment,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    }).trim();
  afterAll(() => compose('down', '--timeout', '5', '--volumes'));

  it('start with --scale, have an admin port each, and one that is killed costs no request', async () => {
    compose('up', '--detach', '--wait', '--scale', 'service=2');
    const [first, second] = [1, 2].map((index) => compose('port', '--index', String(index), 'service', '9090'));
    expect(first).not.toBe(second);
    for (const admin of [first, second]) expect((await fetch(`http://${admin}/readyz`)).status).toBe(200);

    const gateway = new OpenAI({
      baseURL: `http://${compose('port', 'envoy', '10000')}/v1`,
      apiKey: 'unused',
      maxRetries: 0,
    });
    const ask = async () => (await gateway.responses.create({ model: 'demo', input: 'hello' })).status;
    for (let n = 0; n < 10; n += 1) expect(await ask()).toBe('completed');
    execFileSync('docker', ['kill', compose('ps', '--quiet', 'service').split('\n')[1] ?? '']);
    for (let n = 0; n < 20; n += 1) expect(await ask()).toBe('completed');
  });
});

describe('docker-compose.upstream.yml', () => {
  const files = ['docker-compose.yml', 'docker-compose.upstream.yml'].flatMap((file) => ['--file', file]);
  const compose = (environment: NodeJS.ProcessEnv, ...words: string[]) =>
    promisify(execFile)('docker', ['compose', '--project-name', 'responses-extproc-upstream', ...files, ...words], {
      cwd: root,
      env: { ...process.env, SERVICE_IMAGE: image, ENVOY_PORT: '0', ...environment },
    }).then(({ stdout }) => stdout.trim());
  afterAll(() => compose({}, 'down', '--timeout', '5', '--volumes'));

  it('puts a Chat server of this machine behind the mesh, and starts no other', async () => {
    const own = await startEmbeddedUpstream({ host: '0.0.0.0', port: 0 });
    try {
      await compose({ CHAT_PORT: String(own.port) }, 'up', '--detach', '--wait');
      const address = await compose({}, 'port', 'envoy', '10000');
      const gateway = new OpenAI({ baseURL: `http://${address}/v1`, apiKey: 'unused', maxRetries: 0 });
      expect((await gateway.responses.create({ model: 'demo', input: 'hello' })).status).toBe('completed');
      const admin = await compose({}, 'port', 'service', '9090');
      const scrape = await (await fetch(`http://${admin}/metrics`)).text();
      expect(scrape).toMatch(/^responses_extproc_exchanges_total\{outcome="completed",profile="ollama"\} 1$/m);
      expect((await compose({}, 'ps', '--services')).split('\n').sort()).toEqual(['envoy', 'service']);
    } finally {
      await own.close();
    }
  });
});

describe('the upgrade that docs/upgrading.md shows', () => {
  const next = 'responses-extproc:next';
  const environment = { ...process.env, SERVICE_IMAGE: image, ENVOY_PORT: '0' };
  const run = async (command: string, more: NodeJS.ProcessEnv = {}) =>
    (
      await promisify(execFile)('sh', ['-euc', command], {
        cwd: root,
        env: { ...environment, COMPOSE_PROJECT_NAME: 'responses-extproc-upgraded', ...more },
      })
    ).stdout.trim();
  const commands =
    readFileSync(join(root, 'docs/upgrading.md'), 'utf8').match(/```sh\n(SERVICE_IMAGE=[^`]+)```/)?.[1] ?? '';
  afterAll(() => run('docker compose down --timeout 5 --volumes'));

  it('loses no request and no stream', async () => {
    await run(`docker tag ${image} ${next}; docker compose up --detach --wait`);
    const baseURL = `http://${await run('docker compose port envoy 10000')}/v1`;
    const gateway = new OpenAI({ baseURL, apiKey: 'unused', maxRetries: 0 });
    const words = Array.from({ length: 60 }, (_, n) => `word${n}`);
    const stream = gateway.responses.stream({ model: 'demo-slow', input: words.join(' ') });
    expect(await untilFirstText(stream)).toBe(true);

    let upgraded = false;
    const ends: string[] = [];
    const load = Promise.all(
      Array.from({ length: 4 }, async () => {
        while (!upgraded)
          ends.push(
            await gateway.responses.create({ model: 'demo', input: 'hello' }).then(({ status }) => `${status}`, String),
          );
      }),
    );
    await run(commands.replace(/SERVICE_IMAGE=\S+/, `SERVICE_IMAGE=${next}`)).finally(() => {
      upgraded = true;
    });
    await load;

    const response = await stream.finalResponse();
    for (const word of words) expect(response.output_text).toContain(word);
    expect(new Set(ends)).toEqual(new Set(['completed']));
    const running = await run('docker inspect --format "{{.Config.Image}}" $(docker compose ps --quiet service)');
    expect(running).toBe(next);
    expect((await gateway.responses.create({ model: 'demo', input: 'hello' })).status).toBe('completed');
  });
});

async function logOfService(): Promise<string> {
  return execFileSync('docker', ['logs', service().getId()], { encoding: 'utf8' });
}

function untilFirstText(stream: ReturnType<OpenAI['responses']['stream']>): Promise<boolean> {
  return new Promise((resolve, reject) => {
    stream.on('response.output_text.delta', () => resolve(true));
    stream.on('error', reject);
  });
}
