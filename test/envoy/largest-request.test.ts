import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestMesh, type TestMesh } from '../support/mesh.ts';
import { completion } from '../support/upstream.ts';

const MiB = 1024 * 1024;
let mesh: TestMesh;
beforeAll(async () => {
  mesh = await startTestMesh();
});
afterAll(() => mesh.close());

/** A request of that many bytes, its text in parts that the limit on one text allows. */
function bodyOf(bytes: number): string {
  const parts = Array.from({ length: 7 }, () => ({ type: 'input_text', text: 'x'.repeat(9 * MiB) }));
  const body = JSON.stringify({ model: 'largest', input: [{ role: 'user', content: parts }] });
  return body.padEnd(bytes);
}

async function statusOf(bytes: number): Promise<number> {
  const response = await fetch(`${mesh.url}/v1/responses`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: bodyOf(bytes),
  });
  await response.text();
  return response.status;
}

test('a request of exactly 64 MiB, the shipped limit, is served; one byte more is a 413', async () => {
  mesh.upstream.script('largest', { body: [completion({ content: 'Read.' })] });
  expect(await statusOf(64 * MiB)).toBe(200);
  expect(await statusOf(64 * MiB + 1)).toBe(413);
});
