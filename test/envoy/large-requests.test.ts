import { connect } from 'node:http2';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findConnectionManager, findEnvoyRoute } from '../../mesh/envoy-config.ts';
import { startTestMesh, type TestMesh } from '../support/mesh.ts';
import { completion } from '../support/upstream.ts';

describe.each(['BUFFERED', 'FULL_DUPLEX_STREAMED'])('request body mode %s', (mode) => {
  let mesh: TestMesh;
  beforeAll(async () => {
    mesh = await startTestMesh({
      edit(config) {
        const { processing_mode } = findConnectionManager(config).http_filters[0].typed_config;
        processing_mode['request_body_mode'] = mode;
        processing_mode['request_trailer_mode'] = 'SEND';
        // The router keeps the body for retries, and Envoy sends what it keeps twice when trailers follow (envoy#45470).
        const route = findEnvoyRoute(config, 'responses');
        if (mode === 'FULL_DUPLEX_STREAMED') delete route.route['retry_policy'];
      },
    });
  });
  afterAll(() => mesh.close());

  test.each([false, true])('a body of 10 MB arrives once and whole, with trailers: %s', async (trailers) => {
    mesh.upstream.script('large', { body: [completion({ content: 'Read.' })] });
    const input = 'x'.repeat(10_000_000);
    const before = mesh.upstream.received('large').length;
    const session = connect(mesh.url);
    const call = session.request(
      { ':method': 'POST', ':path': '/v1/responses', 'content-type': 'application/json' },
      { waitForTrailers: trailers },
    );
    call.on('wantTrailers', () => call.sendTrailers({ 'x-checksum': 'abc' }));
    call.end(JSON.stringify({ model: 'large', input }));
    let text = '';
    for await (const bytes of call) text += bytes;
    session.close();
    expect(JSON.parse(text)).toMatchObject({ status: 'completed' });
    const [received, ...again] = mesh.upstream.received('large').slice(before);
    expect(again).toEqual([]);
    expect(received?.json().messages).toEqual([{ role: 'user', content: input }]);
  });
});
