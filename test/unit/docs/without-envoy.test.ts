import type { AddressInfo } from 'node:net';
import OpenAI, { APIError } from 'openai';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createResponsesServer } from '../../../docs/examples/without-envoy.ts';
import { type EmbeddedUpstream, startEmbeddedUpstream } from '../../../mesh/upstream.ts';

/** The example that uses the filter's interface and nothing else, with OpenAI's SDK in front and the mesh's own Chat server behind. */
let upstream: EmbeddedUpstream;
let server: ReturnType<typeof createResponsesServer>;
let client: OpenAI;

beforeAll(async () => {
  upstream = await startEmbeddedUpstream();
  server = createResponsesServer(`http://127.0.0.1:${upstream.port}/v1`);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  client = new OpenAI({ baseURL: `http://127.0.0.1:${port}/v1`, apiKey: 'none', maxRetries: 0 });
});

afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await upstream.close();
});

it('answers with JSON', async () => {
  const response = await client.responses.create({ model: 'demo', input: 'Say hello.', store: false });
  expect(response.status).toBe('completed');
  expect(response.output_text).not.toBe('');
});

it('answers with a stream, which the SDK adds up', async () => {
  const stream = client.responses.stream({ model: 'demo', input: 'Say hello.', store: false });
  let deltas = '';
  stream.on('response.output_text.delta', ({ delta }) => (deltas += delta));
  const response = await stream.finalResponse();
  expect(response.status).toBe('completed');
  expect(response.output_text).toBe(deltas);
  expect(deltas).not.toBe('');
});

it('refuses with the field', async () => {
  const refused = client.responses.create({ model: 'demo', input: 'x', store: true });
  await expect(refused).rejects.toThrow(APIError);
  await expect(refused).rejects.toMatchObject({ status: 400, param: 'store' });
});

it('shows what the Chat server says instead of an answer', async () => {
  const alone = createResponsesServer(`http://127.0.0.1:${upstream.port}/nowhere`);
  await new Promise<void>((resolve) => alone.listen(0, '127.0.0.1', resolve));
  const { port } = alone.address() as AddressInfo;
  const lost = new OpenAI({ baseURL: `http://127.0.0.1:${port}/v1`, apiKey: 'none', maxRetries: 0 });
  await expect(lost.responses.create({ model: 'demo', input: 'x', store: false })).rejects.toMatchObject({
    status: 404,
    message: expect.stringContaining('No such path'),
  });
  alone.closeAllConnections();
  alone.close();
});
