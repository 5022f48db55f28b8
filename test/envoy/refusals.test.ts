import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestMesh, type TestMesh } from '../support/mesh.ts';

let mesh: TestMesh;
beforeAll(async () => {
  mesh = await startTestMesh();
});
afterAll(() => mesh.close());

const message = { role: 'user', content: 'Hi' };

describe('a request that would need state is refused, and the upstream never hears of it', () => {
  test.each([
    ['store: true', { store: true }, 400, 'unsupported_value', 'store'],
    [
      'previous_response_id',
      { previous_response_id: 'resp_1' },
      400,
      'previous_response_not_found',
      'previous_response_id',
    ],
    ['conversation', { conversation: 'conv_1' }, 400, 'unsupported_parameter', 'conversation'],
    ['a stored prompt', { prompt: { id: 'pmpt_1' } }, 400, 'unsupported_parameter', 'prompt'],
    ['background: true', { background: true }, 400, 'unsupported_value', 'background'],
    ['an item_reference', { input: [message, { type: 'item_reference', id: 'msg_1' }] }, 400, null, 'input[1]'],
    [
      'file_search',
      { tools: [{ type: 'file_search', vector_store_ids: ['vs_1'] }] },
      400,
      'unsupported_parameter',
      'tools[0].type',
    ],
    [
      'mcp',
      { tools: [{ type: 'mcp', server_label: 'x', server_url: 'http://x' }] },
      400,
      'unsupported_parameter',
      'tools[0].type',
    ],
    [
      'code_interpreter',
      { tools: [{ type: 'code_interpreter', container: { type: 'auto' } }] },
      400,
      'unsupported_parameter',
      'tools[0].type',
    ],
    [
      'computer_use_preview',
      { tools: [{ type: 'computer_use_preview' }] },
      400,
      'unsupported_parameter',
      'tools[0].type',
    ],
    [
      'a shell in a container',
      { tools: [{ type: 'shell', environment: { type: 'container_auto' } }] },
      400,
      'unsupported_parameter',
      'tools[0].environment',
    ],
    ['a field of the wrong type', { temperature: 'warm' }, 400, null, 'temperature'],
  ])('%s', async (_name, fields, status, code, param) => {
    for (const stream of [false, true]) {
      const response = await mesh.post({ model: 'refused', input: 'Hi', stream, ...fields });
      expect(response.status).toBe(status);
      expect(response.headers.get('content-type')).toBe('application/json');
      const { error } = (await response.json()) as { error: Record<string, unknown> };
      expect(error).toMatchObject({ type: 'invalid_request', param });
      expect(error['message']).toEqual(expect.any(String));
      if (code !== null) expect(error['code']).toBe(code);
    }
    expect(mesh.upstream.all).toEqual([]);
  });

  test.each([
    ['GET', '/v1/responses/resp_1'],
    ['DELETE', '/v1/responses/resp_1'],
    ['POST', '/v1/responses/resp_1/cancel'],
    ['GET', '/v1/responses/resp_1/input_items'],
    ['POST', '/v1/conversations'],
    ['GET', '/v1/conversations/conv_1'],
  ])('%s %s: nothing is stored here', async (method, path) => {
    const response = await fetch(`${mesh.url}${path}`, { method });
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({ error: { type: 'not_found', code: 'not_found' } });
    expect(mesh.upstream.all).toEqual([]);
  });

  test('a body that is not JSON', async () => {
    const response = await fetch(`${mesh.url}/v1/responses`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"model": "x", ',
    });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { type: 'invalid_request', code: 'invalid_json' } });
  });

  test('the official SDK throws a BadRequestError that names the field', async () => {
    const refused = mesh.client.responses.create({ model: 'refused', input: 'Hi', previous_response_id: 'resp_1' });
    await expect(refused).rejects.toMatchObject({
      status: 400,
      code: 'previous_response_not_found',
      param: 'previous_response_id',
      requestID: expect.any(String),
    });
  });

  test('the access log names the refusal', async () => {
    await mesh.post({ model: 'refused', input: 'Hi', store: true }, { headers: { 'x-request-id': 'refused-1' } });
    const line = await mesh.accessLog((entry) => entry['request_id'] === 'refused-1');
    expect(line).toMatchObject({ status: 400, details: 'responses_extproc:unsupported_value', upstream: null });
  });
});

test('a WebSocket upgrade gets 426 at once, so that clients fall back to HTTP', async () => {
  const { get } = await import('node:http');
  const status = await new Promise((resolve, reject) => {
    const headers = {
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
    };
    get(`${mesh.url}/v1/responses`, { headers }, (response) => {
      let body = '';
      response.on('data', (piece) => {
        body += piece;
      });
      response.on('end', () => resolve([response.statusCode, JSON.parse(body).error.code]));
    }).on('error', reject);
  });
  expect(status).toEqual([426, 'websocket_not_supported']);
});
