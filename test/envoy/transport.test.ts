import { request as httpRequest } from 'node:http';
import { connect as connectHttp2 } from 'node:http2';
import { Readable } from 'node:stream';
import { brotliCompressSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestMesh, type TestMesh } from '../support/mesh.ts';
import { completion, delta, done, eventStream, finish, usage } from '../support/upstream.ts';

const answer = { body: [completion({ content: 'Grüße 🌍' })] };
const stream = [delta({ content: 'Grü' }), delta({ content: 'ße 🌍' }), finish('stop'), usage(3, 2), done];

let overHttp1: TestMesh;
let overHttp2: TestMesh;
beforeAll(async () => {
  overHttp1 = await startTestMesh();
  overHttp2 = await startTestMesh({ http2Upstream: true });
});
afterAll(() => Promise.all([overHttp1.close(), overHttp2.close()]));

describe.each([
  ['HTTP/1.1', () => overHttp1],
  ['HTTP/2', () => overHttp2],
] as const)('an upstream that speaks %s', (_name, meshOf) => {
  let mesh: TestMesh;
  beforeAll(() => {
    mesh = meshOf();
  });

  async function expectBothRoads(name: string): Promise<void> {
    const whole = await mesh.client.responses.create({ model: `${name} json`, input: 'Hi' });
    expect(whole.output_text).toBe('Grüße 🌍');
    const streamed = await mesh.client.responses.stream({ model: `${name} sse`, input: 'Hi' }).finalResponse();
    expect(streamed.output_text).toBe('Grüße 🌍');
    expect(streamed.status).toBe('completed');
  }

  test('answers as JSON and as a stream', async () => {
    mesh.upstream.script('plain json', answer);
    mesh.upstream.script('plain sse', { headers: eventStream, body: stream });
    await expectBothRoads('plain');
    expect(mesh.upstream.received('plain json')[0]?.httpVersion).toBe(mesh === overHttp2 ? '2.0' : '1.1');
  });

  test('ends with trailers', async () => {
    const trailers = { 'x-checksum': 'abc' };
    mesh.upstream.script('trailers json', { ...answer, trailers });
    mesh.upstream.script('trailers sse', { headers: eventStream, body: stream, trailers });
    await expectBothRoads('trailers');
  });

  test.each([
    ['gzip', gzipSync],
    ['br', brotliCompressSync],
    ['zstd', zstdCompressSync],
  ] as const)('compresses with %s although it was told not to', async (encoding, compress) => {
    const inBits = (text: string) =>
      compress(text)
        .toString('latin1')
        .match(/.{1,7}/gs)
        ?.map((bits) => Buffer.from(bits, 'latin1')) ?? [];
    const headers = { 'content-encoding': encoding };
    mesh.upstream.script(`${encoding} json`, { headers, body: inBits(answer.body.join('')) });
    mesh.upstream.script(`${encoding} sse`, { headers: { ...eventStream, ...headers }, body: inBits(stream.join('')) });
    await expectBothRoads(encoding);
    const response = await mesh.post({ model: `${encoding} json`, input: 'Hi' });
    expect(response.headers.get('content-encoding')).toBeNull();
    expect(mesh.upstream.received(`${encoding} json`)[0]?.headers['accept-encoding']).toBe('identity');
  });

  test('an encoding that nobody knows is a 502', async () => {
    mesh.upstream.script('odd', { headers: { 'content-encoding': 'rot13' }, body: ['{}'] });
    const response = await mesh.post({ model: 'odd', input: 'Hi' });
    expect(response.status).toBe(502);
    expect(await response.json()).toMatchObject({ error: { type: 'server_error' } });
  });

  test('headers that would lie after translation are gone', async () => {
    const headers = { etag: '"1"', digest: 'sha-256=x', 'content-md5': 'x', 'openai-processing-ms': '12' };
    mesh.upstream.script('lies', { ...answer, headers });
    const response = await mesh.post({ model: 'lies', input: 'Hi' });
    expect(Object.fromEntries(response.headers)).toMatchObject({ 'openai-processing-ms': '12' });
    for (const name of ['etag', 'digest', 'content-md5']) expect(response.headers.has(name)).toBe(false);
  });
});

describe('a client', () => {
  let mesh: TestMesh;
  beforeAll(() => {
    mesh = overHttp1;
    mesh.upstream.script('m', answer);
  });
  const body = JSON.stringify({ model: 'm', input: 'Grüße' });

  test('may speak HTTP/2', async () => {
    const session = connectHttp2(mesh.url);
    const stream = session.request({ ':method': 'POST', ':path': '/v1/responses', 'content-type': 'application/json' });
    stream.end(body);
    const response = JSON.parse(await textOf(stream));
    session.close();
    expect(response).toMatchObject({ object: 'response', status: 'completed' });
  });

  test('may send its body in chunks; the upstream gets one with a content-length', async () => {
    const before = mesh.upstream.all.length;
    const response = await fetch(`${mesh.url}/v1/responses`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: Readable.toWeb(Readable.from([body.slice(0, 9), body.slice(9)])) as ReadableStream,
      duplex: 'half',
    });
    expect(response.status).toBe(200);
    const request = mesh.upstream.all[before];
    expect(request?.headers['content-length']).toBe(String(request?.body.length));
    expect(request?.headers['transfer-encoding']).toBeUndefined();
  });

  test('may expect 100-continue', async () => {
    const response = await new Promise<string>((resolve, reject) => {
      const request = httpRequest(`${mesh.url}/v1/responses`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(body),
          expect: '100-continue',
        },
      });
      request.once('continue', () => request.end(body));
      request.once('response', (answered) => textOf(answered).then(resolve, reject));
      request.once('error', reject);
    });
    expect(JSON.parse(response)).toMatchObject({ status: 'completed' });
  });

  test('that announces a body over 64 MiB is refused by the service before it sends it', async () => {
    const answered = await new Promise<{ status: number | undefined; text: string }>((resolve, reject) => {
      const request = httpRequest(`${mesh.url}/v1/responses`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'content-length': 64 * 1024 * 1024 + 1 },
      });
      request.flushHeaders();
      request.once('response', (response) =>
        textOf(response).then((text) => resolve({ status: response.statusCode, text }), reject),
      );
      request.once('error', reject);
    });
    expect(answered.status).toBe(413);
    expect(JSON.parse(answered.text)).toMatchObject({ error: { type: 'invalid_request', code: 'request_too_large' } });
  });
});

async function textOf(stream: Readable): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of stream) pieces.push(piece);
  return Buffer.concat(pieces).toString('utf8');
}
