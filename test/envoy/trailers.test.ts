import { connect, type IncomingHttpHeaders } from 'node:http2';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestMesh, type TestMesh } from '../support/mesh.ts';
import { completion, delta, done, eventStream, finish } from '../support/upstream.ts';

let mesh: TestMesh;
beforeAll(async () => {
  mesh = await startTestMesh({ http2Upstream: true });
});
afterAll(() => mesh.close());

const trailers = {
  'content-digest': 'sha-256=:x:',
  'repr-digest': 'sha-256=:x:',
  digest: 'sha-256=x',
  'content-md5': 'x',
  etag: '"x"',
  'grpc-status': '0',
  'server-timing': 'decode;dur=3',
};

/** Over HTTP/2: the body and the trailers. */
async function ask(path: string, fields: object): Promise<{ body: string; trailers: object }> {
  const session = connect(mesh.url);
  const stream = session.request({ ':method': 'POST', ':path': path, 'content-type': 'application/json' });
  let received = {};
  stream.on('trailers', (headers: IncomingHttpHeaders) => {
    received = Object.fromEntries(Object.entries(headers));
  });
  stream.end(JSON.stringify({ input: 'Hi', ...fields }));
  let body = '';
  for await (const bytes of stream) body += bytes;
  session.close();
  return { body, trailers: received };
}

test.each([
  ['JSON', false, {}, [completion({ content: 'Hi' })]],
  ['an event stream', true, eventStream, [delta({ content: 'Hi' }), finish('stop'), done]],
])(
  'trailers of %s reach the client without what vouched for the upstream’s bytes',
  async (_name, stream, headers, body) => {
    mesh.upstream.script('trailers', { headers, body, trailers });
    const answer = await ask('/v1/responses', { model: 'trailers', stream });
    expect(answer.body).toContain('"completed"');
    expect(answer.trailers).toEqual({ 'grpc-status': '0', 'server-timing': 'decode;dur=3' });
  },
);

test('trailers of what only passes stay as they are', async () => {
  mesh.upstream.script('passing', { body: ['{}'], trailers });
  const answer = await ask('/v1/chat/completions', { model: 'passing' });
  expect(answer.trailers).toEqual(trailers);
});
