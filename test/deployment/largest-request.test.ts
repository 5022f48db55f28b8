import { request as httpRequest } from 'node:http';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestMesh, type TestMesh } from '../support/mesh.ts';
import { completion } from '../support/upstream.ts';

const MiB = 1024 * 1024;
let mesh: TestMesh;
beforeAll(async () => {
  mesh = await startTestMesh({ environment: { MAX_FILE_BYTES: String(48 * MiB) } });
});
afterAll(() => mesh.close());

/** A request of that many bytes, its text in parts that the limit on one text allows. */
function bodyOf(bytes: number): string {
  const parts = Array.from({ length: 7 }, () => ({ type: 'input_text', text: 'x'.repeat(9 * MiB) }));
  const body = JSON.stringify({ model: 'largest', input: [{ role: 'user', content: parts }] });
  return body.padEnd(bytes);
}

async function statusOf(body: string): Promise<number> {
  const response = await fetch(`${mesh.url}/v1/responses`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  });
  await response.text();
  return response.status;
}

test('a request of exactly 64 MiB, the shipped limit, is served; one byte more is a 413', async () => {
  mesh.upstream.script('largest', { body: [completion({ content: 'Read.' })] });
  expect(await statusOf(bodyOf(64 * MiB))).toBe(200);
  expect(await statusOf(bodyOf(64 * MiB + 1))).toBe(413);
});

test('a request of 64 MiB whose Chat form is longer is served too', async () => {
  mesh.upstream.script('longer', { body: [completion({ content: 'Read.' })] });
  // Each call has an object of its own around it in Chat's form.
  const output = 'x'.repeat(640 * 1024);
  const items = Array.from({ length: 100 }, (_, index) => [
    { type: 'function_call', call_id: `c${index}`, name: 'f', arguments: '{}' },
    { type: 'function_call_output', call_id: `c${index}`, output },
  ]).flat();
  const body = JSON.stringify({
    model: 'longer',
    input: [{ role: 'user', content: 'Hi' }, ...items, { role: 'user', content: '-' }],
  });
  expect(await statusOf(body.replace('"-"', `"${'x'.repeat(64 * MiB - body.length + 1)}"`))).toBe(200);
  expect(mesh.upstream.received('longer')[0]?.body.length).toBeGreaterThan(64 * MiB);
});

test('a request with a 32 MiB image goes through', async () => {
  const image_url = `data:image/png;base64,${'A'.repeat(32 * MiB)}`;
  mesh.upstream.script('m', { body: [completion({ content: 'Seen.' })] });
  const response = await mesh.post({
    model: 'm',
    input: [{ role: 'user', content: [{ type: 'input_image', image_url, detail: 'auto' }] }],
  });
  expect(response.status).toBe(200);
  expect(mesh.upstream.received('m').at(-1)?.body.length).toBeGreaterThan(32 * MiB);
});

test.each([
  ['over 64 MiB', 66],
  ['over the 80 MiB that Envoy takes', 82],
])('a body that only turns out to be %s is refused in the API’s form', async (_, size) => {
  const piece = Buffer.alloc(MiB, 'a');
  const answered = await new Promise<{ status: number | undefined; said: string }>((resolve, reject) => {
    const request = httpRequest(`${mesh.url}/v1/responses`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
    });
    request.once('response', (response) =>
      text(response).then((said) => resolve({ status: response.statusCode, said }), reject),
    );
    request.once('error', reject);
    Readable.from(Array.from({ length: size }, () => piece)).pipe(request);
  });
  expect(answered.status).toBe(413);
  expect(JSON.parse(answered.said)).toMatchObject({ error: { type: 'invalid_request', code: 'request_too_large' } });
});
