import { once } from 'node:events';
import { createServer, type ServerHttp2Session } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { createForwarder } from '../../../../src/service/websocket/forward.ts';

it('a forwarder that is closed leaves no connection, and its turns are told', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const connected = once(server, 'session') as Promise<[ServerHttp2Session]>;
  const asked = once(server, 'stream');
  const { port } = server.address() as AddressInfo;
  const forwarder = createForwarder(`http://127.0.0.1:${port}/v1`);
  const broken = new Promise<string>((resolve) => {
    const turn = { headers() {}, body() {}, end() {}, broken: resolve };
    forwarder.forConnection({}, '', 'id')([Buffer.from('{}')], 1, turn);
  });
  const [session] = await connected;
  await asked;
  const closed = once(session, 'close');
  forwarder.close();
  await closed;
  expect(await broken).toEqual(expect.any(String));
  await new Promise((resolve) => server.close(resolve));
});
