import { expect, test } from 'vitest';
import { completion } from '../support/upstream.ts';
import { openWebSocket } from '../support/websocket-client.ts';
import { configurationOf, gatewayKinds, withGateway } from './gateways.ts';

const webSocket = ['webSocket.enabled=true', 'webSocket.forwardTo=http://gateway.example/v1'];
const json = { 'content-type': 'application/json' };

test.each(gatewayKinds)(
  'under %s an upstream that leads back gets each request three times, and the client a 508 that says so',
  async (kind) => {
    const configuration = configurationOf(kind, ...webSocket);
    await withGateway(
      configuration,
      async ({ url, envoy }) => {
        const error = {
          type: 'server_error',
          code: 'loop_detected',
          message: expect.stringMatching(/is the gateway itself/),
        };
        const post = (path: string, body: object) =>
          fetch(`${url}/v1/${path}`, { method: 'POST', headers: json, body: JSON.stringify({ model: 'm', ...body }) });
        const get = (path: string, id: string) => fetch(`${url}/v1/${path}`, { headers: { 'x-request-id': id } });
        const answers = [
          await post('responses', { input: 'Hi' }),
          await post('responses', { input: 'Hi', stream: true }),
          await post('chat/completions', { messages: [] }),
          await get('models', 'list'),
          await get('models?client_version=1', 'catalog'),
        ];
        for (const answer of answers) {
          expect([answer.status, answer.headers.get('content-type')]).toEqual([508, 'application/json']);
          expect(await answer.json()).toMatchObject({ error });
        }
        const socket = await openWebSocket(`${url}/v1/responses`);
        expect((await socket.turn({ model: 'm', input: 'Hi' })).at(-1)).toMatchObject({ status: 508, error });
        await socket.close();
        for (const id of ['list', 'catalog']) {
          const passes = () => envoy.accessLog().filter((line) => line['request_id'] === id);
          await expect.poll(() => passes().length).toBe(4);
          expect(passes().map(({ status }) => status)).toEqual([508, 508, 508, 508]);
          expect(passes().filter(({ details }) => details === 'direct_response')).toHaveLength(1);
        }
      },
      { leadsBack: true },
    );
  },
);

test.each(gatewayKinds)('under %s gateways may follow one another', async (kind) => {
  await withGateway(configurationOf(kind), async ({ url, chat }) => {
    chat.script('m', { body: [completion({ content: 'Hi' })] });
    const passed = 'a-cdn; loops=1, responses-extproc, responses-extproc';
    const answer = await fetch(`${url}/v1/responses`, {
      method: 'POST',
      headers: { ...json, 'cdn-loop': passed },
      body: JSON.stringify({ model: 'm', input: 'Hi' }),
    });
    expect(answer.status).toBe(200);
    expect(chat.received('m')[0]?.headers['cdn-loop']).toBe(`${passed},responses-extproc`);
  });
});
