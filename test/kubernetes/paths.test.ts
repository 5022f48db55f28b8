import { expect, test } from 'vitest';
import { completion } from '../support/upstream.ts';
import { configurationOf, gatewayKinds, withGateway } from './gateways.ts';

test.each(gatewayKinds)('under %s the API’s paths lead somewhere by default, and no other does', async (kind) => {
  await withGateway(configurationOf(kind), async ({ url, chat }) => {
    chat.script('m', { body: [completion({ content: 'Hi' })] });
    chat.script('/v1/models', { body: ['{"object":"list","data":[]}'] });
    const body = JSON.stringify({ model: 'm', input: 'Hi', messages: [] });
    const headers = { 'content-type': 'application/json' };
    const ask = (method: string, path: string) =>
      fetch(`${url}${path}`, { method, ...(method === 'POST' && { headers, body }) });
    expect((await ask('GET', '/v1/models')).status).toBe(200);
    expect((await ask('POST', '/v1/chat/completions')).status).toBe(200);
    const before = chat.all.length;
    // Of the service, which says so: nothing is stored.
    for (const [method, path] of [
      ['GET', '/v1/responses/resp_1'],
      ['POST', '/v1/conversations'],
    ] as const)
      expect(await (await ask(method, path)).json(), path).toMatchObject({ error: { code: 'not_found' } });
    for (const [method, path] of [
      ['DELETE', '/api/delete'],
      ['GET', '/v1/files'],
      ['POST', '/v1/embeddings'],
      ['POST', '/'],
    ] as const)
      expect((await ask(method, path)).status, path).toBe(404);
    expect(chat.all.slice(before)).toEqual([]);
  });
});
