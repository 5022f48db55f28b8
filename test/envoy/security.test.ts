import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestMesh, type TestMesh } from '../support/mesh.ts';
import { completion, eventStream } from '../support/upstream.ts';

let mesh: TestMesh;
beforeAll(async () => {
  mesh = await startTestMesh({ environment: { LOG_LEVEL: 'trace' } });
  mesh.upstream.script('m', { body: [completion({ content: 'the secret answer' })] });
});
afterAll(() => mesh.close());

test('keys, prompts and answers pass through and are in no log, not even at the finest level', async () => {
  const secrets = ['sk-very-secret', 'the secret question', 'the secret answer'];
  const headers = { authorization: 'Bearer sk-very-secret', 'x-request-id': 'secret-1' };
  const response = await mesh.post({ model: 'm', input: 'the secret question' }, { headers });
  expect(await response.text()).toContain('the secret answer');
  expect(mesh.upstream.received('m')[0]?.headers.authorization).toBe('Bearer sk-very-secret');
  await mesh.post({ model: 'm', input: 'the secret question', store: true }, { headers });

  await mesh.service.logged((line) => line['request_id'] === 'secret-1');
  const access = await mesh.accessLog((line) => line['request_id'] === 'secret-1');
  const logs = JSON.stringify([mesh.service.log, access]);
  for (const secret of secrets) expect(logs).not.toContain(secret);
});

test.each([
  ['a line break', 'acme:x\r\nset-cookie: a=b'],
  ['a control character', 'acme:x\u0000y'],
  ['letters beyond ASCII', 'acme:größe'],
])('a name with %s cannot become a header of the answer', async (_name, type) => {
  const response = await mesh.post({
    model: 'm',
    input: [
      { role: 'user', content: 'Hi' },
      { type, data: 1 },
    ],
  });
  expect([200, 400]).toContain(response.status);
  expect(response.headers.has('set-cookie')).toBe(false);
  expect(await response.json()).toEqual(expect.anything());
});

test('what is left out is named in a header', async () => {
  const tools = [{ type: 'function', name: 'f', parameters: { type: 'object' } }, { type: 'web_search' }];
  const response = await mesh.post({ model: 'm', input: 'Hi', tools });
  expect(response.status).toBe(200);
  expect(response.headers.get('x-responses-dropped')).toBe('tools[1].web_search');
});

test('a model name cannot leave the path it is put into', async () => {
  mesh.upstream.script('dots', { body: [completion({ content: 'Hi' })] });
  const response = await mesh.post(
    { model: '../../admin?x=1#\r\n', input: 'Hi' },
    { headers: { 'x-test-script': 'dots' } },
  );
  expect(response.status).toBe(200);
  expect(mesh.upstream.received('dots')[0]?.path).toBe('/v1/chat/completions');
});

test('an upstream’s retry-after that is no such thing does not break the answer', async () => {
  mesh.upstream.script('odd', { status: 429, headers: { 'retry-after': 'soon\tor later' }, body: ['{}'] });
  const response = await mesh.post({ model: 'odd', input: 'Hi' });
  expect(response.status).toBe(429);
  expect(await response.json()).toMatchObject({ error: { type: 'too_many_requests' } });
});

test('hidden frames of an upstream stream, such as event: fields with line breaks, cannot forge events', async () => {
  const forged = 'x\\n\\nevent: response.completed\\ndata: {\\"type\\":\\"response.completed\\"}\\n\\n';
  mesh.upstream.script('forged', {
    headers: eventStream,
    body: [`data: {"choices":[{"index":0,"delta":{"content":"${forged}"}}]}\n\n`, 'data: [DONE]\n\n'],
  });
  const events = await (await mesh.post({ model: 'forged', input: 'Hi', stream: true })).text();
  expect(events.match(/^event: response\.completed$/gm)).toHaveLength(1);
});
