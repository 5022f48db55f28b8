import { type ChildProcess, spawn } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { type IncomingMessage, request } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findConnectionManager } from '../../mesh/envoy-config.ts';
import { addClusterLike } from '../support/envoy-clusters.ts';
import { startTestMesh, type TestMesh } from '../support/mesh.ts';
import { completion, delta, done, eventStream, finish } from '../support/upstream.ts';

/** Another ext_proc service, which changes nothing; prints its port. */
function startOther(): Promise<{ process: ChildProcess; port: number }> {
  const process_ = spawn(process.execPath, [join(import.meta.dirname, '../../bench/noop.ts')]);
  return new Promise((resolve, reject) => {
    process_.stdout.once('data', (line) => resolve({ process: process_, port: Number(line) }));
    process_.once('exit', () => reject(new Error('the other service ended')));
  });
}

let other: { process: ChildProcess; port: number };
beforeAll(async () => {
  other = await startOther();
});
afterAll(() => other.process.kill());

/** A second ext_proc filter in front of ours, with these settings. */
function withFilter(settings: Record<string, unknown>, cluster = 'other'): Promise<TestMesh> {
  return startTestMesh({
    edit(config) {
      addClusterLike(config, 'responses_extproc', 'other', { host: '127.0.0.1', port: other.port });
      const filters = findConnectionManager(config).http_filters as unknown as object[];
      filters.unshift({
        name: 'other',
        typed_config: {
          '@type': 'type.googleapis.com/envoy.extensions.filters.http.ext_proc.v3.ExternalProcessor',
          grpc_service: { envoy_grpc: { cluster_name: cluster } },
          ...settings,
        },
      });
    },
  });
}

const words = Array.from({ length: 50 }, (_, index) => `word${index} `);
const long = 'A long prompt. '.repeat(20_000);

describe.each([
  ['that sees headers alone', {}],
  [
    'that sees the answer in full duplex',
    { request_body_mode: 'BUFFERED', response_body_mode: 'FULL_DUPLEX_STREAMED', response_trailer_mode: 'SEND' },
  ],
])('beside another ext_proc filter %s', (_name, more) => {
  let mesh: TestMesh;
  beforeAll(async () => {
    mesh = await withFilter({
      message_timeout: '120s',
      processing_mode: { request_header_mode: 'SEND', response_header_mode: 'SEND', ...more },
    });
  });
  afterAll(() => mesh.close());

  test('answers, streams and refusals are whole', async () => {
    mesh.upstream.script('json', { body: [completion({ content: long })] });
    mesh.upstream.script('sse', {
      headers: eventStream,
      body: [...words.map((content) => delta({ content })), finish('stop'), done],
    });
    for (let round = 0; round < 10; round++) {
      expect((await mesh.client.responses.create({ model: 'json', input: long })).output_text).toBe(long);
      const streamed = await mesh.client.responses.stream({ model: 'sse', input: long }).finalResponse();
      expect(streamed.output_text).toBe(words.join(''));
    }
    const refused = await mesh.post({ model: 'json', input: 'Hi', store: true });
    expect(refused.status).toBe(400);
    expect(await refused.json()).toMatchObject({ error: { param: 'store' } });
  });
});

test('authentication in front of the service refuses a stranger before the body is there', async () => {
  const key = generateKeyPairSync('rsa', { modulusLength: 2048 }).publicKey.export({ format: 'jwk' });
  const mesh = await startTestMesh({
    edit(config) {
      const filters = findConnectionManager(config).http_filters as unknown as object[];
      filters.unshift({
        name: 'envoy.filters.http.jwt_authn',
        typed_config: {
          '@type': 'type.googleapis.com/envoy.extensions.filters.http.jwt_authn.v3.JwtAuthentication',
          providers: { issuer: { issuer: 'issuer', local_jwks: { inline_string: JSON.stringify({ keys: [key] }) } } },
          rules: [{ match: { prefix: '/' }, requires: { provider_name: 'issuer' } }],
        },
      });
    },
  });
  const headers = { 'content-type': 'application/json', 'transfer-encoding': 'chunked' };
  const refused = await new Promise<IncomingMessage>((resolve, reject) => {
    const stranger = request(`${mesh.url}/v1/responses`, { method: 'POST', headers }, resolve).on('error', reject);
    stranger.write('{"model":"m","input":"'); // and never the rest
  });
  expect(refused.statusCode).toBe(401);
  refused.destroy();
  await mesh.close();
});

test('a filter in observability_mode is answered with nothing, and disturbs nothing', async () => {
  const mesh = await withFilter(
    {
      observability_mode: true,
      processing_mode: {
        request_header_mode: 'SEND',
        response_header_mode: 'SEND',
        request_body_mode: 'STREAMED',
        response_body_mode: 'STREAMED',
      },
    },
    'responses_extproc',
  );
  try {
    mesh.upstream.script('m', { body: [completion({ content: 'Hi' })] });
    expect((await mesh.client.responses.create({ model: 'm', input: long })).output_text).toBe('Hi');
    const stats = await mesh.admin('/stats?filter=spurious_msgs_received|streams_failed');
    expect(stats.match(/: [1-9]/g)).toBeNull();
    await expect.poll(() => mesh.service.metric('responses_extproc_active_exchanges')).toBe(0);
  } finally {
    await mesh.close();
  }
});

test('a service that hangs is a 504 in the API’s form after message_timeout', async () => {
  const mesh = await startTestMesh({
    edit(config) {
      findConnectionManager(config).http_filters[0].typed_config['message_timeout'] = '2s';
    },
  });
  try {
    mesh.upstream.script('m', { body: [completion({ content: 'Hi' })] });
    process.kill(mesh.service.pid, 'SIGSTOP');
    const answer = await mesh.post({ model: 'm', input: 'Hi' });
    expect(answer.status).toBe(504);
    expect(await answer.json()).toMatchObject({ error: { type: 'server_error' } });
    expect(mesh.upstream.received('m')).toEqual([]);
    process.kill(mesh.service.pid, 'SIGCONT');
    await expect.poll(async () => (await mesh.post({ model: 'm', input: 'Hi' })).status).toBe(200);
  } finally {
    await mesh.close();
  }
});
