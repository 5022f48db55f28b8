import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestMesh, type TestMesh } from '../support/mesh.ts';
import { completion } from '../support/upstream.ts';

/** Far more than the sockets on the way take. */
const text = 'x'.repeat(16 * 1024 * 1024);

let mesh: TestMesh;
beforeAll(async () => {
  mesh = await startTestMesh({
    // As envoy/envoy.yaml says for such clients, who may take any time on a busy machine.
    edit(config) {
      config.static_resources.listeners[0].filter_chains[0].filters[0].typed_config['delayed_close_timeout'] = '600s';
    },
  });
  mesh.upstream.script('long', { body: [completion({ content: text })] });
});
afterAll(() => mesh.close());

/** Sends a request, reads the beginning of the answer, nothing for a while, and then the rest. */
async function askAndPause(head: string, pauseMs: number): Promise<string> {
  const { hostname, port } = new URL(mesh.url);
  const body = JSON.stringify({ model: 'long', input: 'Hi' });
  const socket = connect(Number(port), hostname);
  socket.write(
    `${head}\r\nhost: mesh\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  );
  const pieces: Buffer[] = [];
  socket.on('data', (piece: Buffer) => pieces.push(piece));
  await once(socket, 'data');
  socket.pause();
  // Envoy is done with the answer, and waits for the client to take it.
  await mesh.accessLog(({ path, status }) => path === '/v1/chat/completions' && status === 200);
  await sleep(pauseMs);
  socket.resume();
  await once(socket, 'close');
  return Buffer.concat(pieces).toString('latin1');
}

// nginx speaks HTTP/1.0 to its upstreams unless it is told otherwise.
test.each(['POST /v1/responses HTTP/1.1\r\nconnection: close', 'POST /v1/responses HTTP/1.0'])(
  'a client that pauses gets the whole answer: %j',
  async (head) => {
    const answer = await askAndPause(head, 3000);
    expect(answer).toMatch(/^HTTP\/1\.[01] 200 OK\r\n/);
    // In chunks or not: all of the text, and what follows it.
    expect(answer.split('x'.repeat(1024)).length - 1).toBeGreaterThan(text.length / 1024 - 512);
    expect(answer).toMatch(/"total_tokens":\d+[^x]*$/);
  },
);
