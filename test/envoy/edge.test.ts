import { copyFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { connect as connectHttp2 } from 'node:http2';
import { request as httpsRequest } from 'node:https';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { type EnvoyConfig, findCluster, findConnectionManager } from '../../mesh/envoy-config.ts';
import { shippedEnvoyConfig } from '../../mesh/processes.ts';
import { createAuthority } from '../support/certificates.ts';
import { startTestMesh, type TestMesh } from '../support/mesh.ts';
import { completion } from '../support/upstream.ts';

const body = (model: string) => JSON.stringify({ model, input: 'Hi' });
const json = { 'content-type': 'application/json' };

/** Sends a path exactly as it is written; `fetch` would normalise it. */
function postTo(
  mesh: TestMesh,
  path: string,
  headers: Record<string, string> = {},
): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(mesh.url);
    httpRequest({ hostname, port, path, method: 'POST', headers: { ...json, ...headers } }, (response) =>
      answerOf(response).then(resolve, reject),
    )
      .once('error', reject)
      .end(body('m'));
  });
}

async function answerOf(response: IncomingMessage): Promise<{ status: number; text: string }> {
  let text = '';
  for await (const piece of response) text += piece;
  return { status: response.statusCode ?? 0, text };
}

describe('the edge', () => {
  let mesh: TestMesh;
  beforeAll(async () => {
    mesh = await startTestMesh();
    mesh.upstream.script('m', { body: [completion({ content: 'Hi' })] });
  });
  afterAll(() => mesh.close());

  test.each(['//v1/responses', '/v1//responses', '/v1%2Fresponses', '/v1%2fresponses', '/v1/%2e%2e/v1/responses'])(
    '%s is /v1/responses, and is translated',
    async (path) => {
      const answer = await postTo(mesh, path);
      expect(answer.status).toBe(200);
      expect(JSON.parse(answer.text)).toMatchObject({ object: 'response', status: 'completed' });
      expect(mesh.upstream.received('m').at(-1)?.path).toBe('/v1/chat/completions');
    },
  );

  test('a header with an underscore is not passed on: some servers would read it as one with a hyphen', async () => {
    // Codex sends `session_id`, so such requests cannot be refused.
    const answer = await postTo(mesh, '/v1/responses', { session_id: 's1', x_forwarded_for: '1.2.3.4' });
    expect(answer.status).toBe(200);
    const received = mesh.upstream.received('m').at(-1)?.headers ?? {};
    expect(Object.keys(received).filter((name) => name.includes('_'))).toEqual([]);
  });

  test.each(['/v1/responses', '/v1/models'])('%s: the upstream is not told who the client is', async (path) => {
    await postTo(mesh, path, { 'x-forwarded-for': '203.0.113.7' });
    const received = mesh.upstream.received('m').at(-1)?.headers ?? {};
    const telling = Object.keys(received).filter((name) => name === 'x-forwarded-for' || name.startsWith('x-envoy-'));
    expect(telling).toEqual([]);
  });

  test('the access log has the client’s address and user agent, and the trace', async () => {
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    await postTo(mesh, '/v1/responses', { 'x-request-id': 'log-1', 'user-agent': 'codex_cli/1', traceparent });
    expect(await mesh.accessLog((line) => line['request_id'] === 'log-1')).toMatchObject({
      client: '127.0.0.1',
      user_agent: 'codex_cli/1',
      traceparent,
    });
  });

  test('a client may have 100 requests at once on an HTTP/2 connection', async () => {
    const session = connectHttp2(mesh.url);
    const settings = await new Promise((resolve, reject) => {
      session.once('remoteSettings', resolve).once('error', reject);
    });
    session.destroy();
    expect(settings).toMatchObject({ maxConcurrentStreams: 100, initialWindowSize: 1_048_576 });
  });

  test('heap and connections have a limit', async () => {
    const stats = await mesh.admin('/stats');
    expect(stats).toMatch(/^overload\.envoy\.resource_monitors\.fixed_heap\.pressure: \d+$/m);
    expect(stats).toMatch(/^overload\.envoy\.resource_monitors\.global_downstream_max_connections\.pressure: \d+$/m);
    expect(stats).toMatch(/^overload\.envoy\.overload_actions\.stop_accepting_requests\.active: 0$/m);
  });
});

test('where Envoy checks keys, a request without one is a 401 in the API’s form, and the upstream’s own 401 is the upstream’s', async () => {
  const mesh = await startTestMesh({
    edit(config) {
      (findConnectionManager(config).http_filters as unknown as object[]).unshift({
        name: 'keys',
        typed_config: {
          '@type': 'type.googleapis.com/envoy.extensions.filters.http.api_key_auth.v3.ApiKeyAuth',
          credentials: [{ key: 'sk-ada', client: 'ada' }],
          key_sources: [{ header: 'authorization' }],
        },
      });
    },
  });
  try {
    mesh.upstream.script('m', { status: 401, body: ['{"error":{"message":"Not for you"}}'] });
    const refused = await postTo(mesh, '/v1/responses');
    expect(refused.status).toBe(401);
    expect(JSON.parse(refused.text)).toMatchObject({ error: { type: 'invalid_request', code: 'invalid_api_key' } });
    expect(mesh.upstream.all).toEqual([]);
    const theirs = await postTo(mesh, '/v1/responses', { authorization: 'Bearer sk-ada' });
    expect(theirs.status).toBe(401);
    expect(JSON.parse(theirs.text)).toMatchObject({ error: { message: 'Not for you' } });
  } finally {
    await mesh.close();
  }
});

describe('limits that are lowered for a test', () => {
  test('a request body that does not arrive in time is a 408 in the API’s form, and its memory is free', async () => {
    const mesh = await startTestMesh({
      edit(config) {
        const manager = findConnectionManager(config);
        expect(manager['request_timeout']).toBe('120s');
        manager['request_timeout'] = '1s';
      },
    });
    try {
      const answer = await new Promise<string>((resolve) => {
        const socket = connect(Number(new URL(mesh.url).port), '127.0.0.1');
        let text = '';
        socket.on('data', (piece) => {
          text += piece;
        });
        socket.on('error', () => {}); // Envoy resets the connection while we write
        socket.once('close', () => resolve(text));
        socket.write(
          'POST /v1/responses HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 1000000\r\n\r\n',
        );
        socket.write('{"model":"m","input":"');
        const trickle = setInterval(() => socket.write('a'), 100); // never silent
        socket.once('close', () => clearInterval(trickle));
      });
      expect(answer).toMatch(/^HTTP\/1\.1 408 /);
      expect(JSON.parse(/\{.*\}/.exec(answer)?.[0] ?? '')).toMatchObject({
        error: { type: 'server_error', code: 'request_timeout' },
      });
      await expect.poll(() => mesh.service.metric('responses_extproc_active_exchanges')).toBe(0);
    } finally {
      await mesh.close();
    }
  });

  test('a translator that is stuck is told from an upstream that is slow', async () => {
    const mesh = await startTestMesh({
      edit(config) {
        findConnectionManager(config).http_filters[0].typed_config['message_timeout'] = '0.5s';
      },
    });
    try {
      process.kill(mesh.service.pid, 'SIGSTOP');
      const answer = await mesh.post({ model: 'm', input: 'Hi' });
      expect(answer.status).toBe(504);
      expect(await answer.json()).toMatchObject({ error: { type: 'server_error', code: 'gateway_timeout' } });
    } finally {
      process.kill(mesh.service.pid, 'SIGCONT');
      await mesh.close();
    }
  });

  test('when the heap is short, new requests are turned away with a 503 in the API’s form', async () => {
    const mesh = await startTestMesh({
      edit(config) {
        const { resource_monitors } = config['overload_manager'] as {
          resource_monitors: { name: string; typed_config: Record<string, unknown> }[];
        };
        for (const { name, typed_config } of resource_monitors)
          if (name.endsWith('fixed_heap')) typed_config['max_heap_size_bytes'] = 1_000_000;
      },
    });
    try {
      const refused = async () => {
        const answer = await mesh.post({ model: 'm', input: 'Hi' }).catch(() => null);
        return answer?.status === 503 && (await answer.json());
      };
      await expect.poll(refused).toMatchObject({ error: { type: 'server_error', code: 'upstream_unavailable' } });
    } finally {
      await mesh.close();
    }
  });
});

describe('what envoy.yaml has ready to be switched on', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'extproc-edge-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  /** The shipped file with the lines that begin with `#:` switched on, certificates in `folder`. */
  function switchedOn(): EnvoyConfig {
    const text = readFileSync(shippedEnvoyConfig, 'utf8');
    return parse(text.replace(/^( *)#: /gm, '$1').replaceAll('/certs/', `${folder}/`)) as EnvoyConfig;
  }

  test('TLS for clients, tracing, a rate limit and health checks of the upstream work together', async () => {
    const authority = createAuthority('edge');
    const pair = authority.issue('gateway');
    copyFileSync(pair.certFile, join(folder, 'gateway.crt'));
    copyFileSync(pair.keyFile, join(folder, 'gateway.key'));
    const mesh = await startTestMesh({
      edit(config) {
        const { http_filters, ...manager } = findConnectionManager(config);
        const on = switchedOn();
        const { http_filters: filtersOn, tracing } = findConnectionManager(on);
        expect(filtersOn.length).toBe(http_filters.length + 1);
        const [limit] = filtersOn;
        limit.typed_config['token_bucket'] = { max_tokens: 3, tokens_per_fill: 1, fill_interval: '3600s' };
        expect(tracing).toHaveProperty('provider');
        config.static_resources.listeners[0].filter_chains[0].filters[0].typed_config = {
          ...manager,
          tracing,
          http_filters: filtersOn,
        };
        const [chain] = on.static_resources.listeners[0].filter_chains;
        Object.assign(config.static_resources.listeners[0].filter_chains[0], {
          transport_socket: (chain as { transport_socket?: unknown }).transport_socket,
        });
        findCluster(config, 'chat')['health_checks'] = findCluster(on, 'chat')['health_checks'];
        config.static_resources.clusters.push(findCluster(on, 'otel_collector'));
      },
    });
    try {
      mesh.upstream.script('/health', { body: ['{}'] });
      mesh.upstream.script('m', { body: [completion({ content: 'Hi' })] });
      await expect.poll(() => mesh.admin('/clusters')).toMatch(/^chat::.*::health_flags::healthy$/m);
      const ca = readFileSync(authority.caFile);
      const port = new URL(mesh.url).port;
      const answers = [];
      for (let n = 0; n < 4; n += 1)
        answers.push(
          await new Promise<{ status: number; text: string }>((resolve, reject) => {
            const options = { host: 'localhost', port, path: '/v1/responses', method: 'POST', headers: json, ca };
            httpsRequest(options, (response) => answerOf(response).then(resolve, reject))
              .once('error', reject)
              .end(body('m'));
          }),
        );
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 429]);
      expect(JSON.parse(answers.at(-1)?.text ?? '')).toMatchObject({
        error: { type: 'too_many_requests', code: 'rate_limit_exceeded' },
      });
    } finally {
      await mesh.close();
      authority.remove();
    }
  });
});
