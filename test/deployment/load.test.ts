import { type ClientHttp2Session, connect as connectHttp2, constants } from 'node:http2';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import type { ExchangeEvent } from '../../src/filter/exchange/types.ts';
import { frameHeadBytes, putFrameHead } from '../../src/service/server/message-frames.ts';
import { defaultModes, headersOf } from '../support/exchange-options.ts';
import { connectExtProc, messageOf } from '../support/extproc-client.ts';
import { processMethod } from '../support/proto-definitions.ts';
import { type RunningService, startService, until } from '../support/service.ts';
import { settled } from '../support/settled.ts';

let running: RunningService;
afterEach(() => running.stop());

const getModels: ExchangeEvent = {
  type: 'request_headers',
  headers: headersOf({ ':method': 'GET', ':path': '/v1/models' }),
  endOfStream: true,
};

test('a proxy that is cut off without a word is noticed, and nothing of its calls stays', async () => {
  running = await startService({}, { pingMs: 200, pingTimeoutMs: 4000 });
  const port = Number(running.address.split(':').at(-1));
  const sockets: Socket[] = [];
  let fromProxy = 0;
  const between = createServer((near) => {
    const far = connect(port, '127.0.0.1');
    sockets.push(near, far);
    near.pipe(far).pipe(near);
    near.on('data', () => {
      fromProxy += 1;
    });
    for (const socket of [near, far]) socket.on('error', () => {});
  });
  await new Promise<void>((resolve) => between.listen(0, '127.0.0.1', resolve));
  const client = connectExtProc(`127.0.0.1:${(between.address() as AddressInfo).port}`);
  const call = client.open(defaultModes);
  call.send({ ...getModels, endOfStream: false });
  await call.next();
  // The proxy is silent but for its answers to pings.
  const before = fromProxy;
  await until(() => fromProxy >= before + 3);
  expect(running.running).toBe(1);
  for (const socket of sockets) socket.unpipe().pause();
  await until(() => running.running === 0);
  expect(running.ends[0]?.how).toBe('aborted');
  for (const socket of sockets) socket.destroy();
  client.close();
  between.close();
});

/** A gRPC frame with this event, in the shipped modes. */
function framed(event: ExchangeEvent): Buffer {
  const { request, response } = defaultModes;
  const config = { protocol_config: { request_body_mode: request, response_body_mode: response } };
  const bytes = processMethod.requestSerialize({ ...messageOf(event), ...config });
  const frame = Buffer.alloc(frameHeadBytes + bytes.length);
  putFrameHead(frame);
  frame.set(bytes, frameHeadBytes);
  return frame;
}

/**
 * A call that sends one message and is reset when the reply has come, without a gRPC client: three quarters of the time would
 * be its own. Gives `a message`, or how the call ended instead.
 */
function shortCall(session: ClientHttp2Session, message: Buffer): Promise<string> {
  return new Promise((resolve) => {
    const call = session.request(
      { ':method': 'POST', ':path': processMethod.path, 'content-type': 'application/grpc', te: 'trailers' },
      { endStream: false },
    );
    call.on('error', ({ message: text }) => resolve(text));
    call.on('close', () => resolve('the call was closed'));
    call.once('data', (bytes: Buffer) => {
      resolve(bytes.length > frameHeadBytes && bytes[0] === 0 ? 'a message' : `${bytes.length} bytes`);
      call.close(constants.NGHTTP2_CANCEL);
    });
    call.write(message);
  });
}

describe('one connection', () => {
  test('bears 20,000 short calls that each end in a reset, as Envoy ends them', async () => {
    running = await startService();
    const session = connectHttp2(`http://${running.address}`);
    const message = framed(getModels);
    let left = 20_000;
    const failures: string[] = [];
    const worker = async () => {
      while (left > 0) {
        left -= 1;
        const reply = await shortCall(session, message);
        if (reply !== 'a message') failures.push(reply);
      }
    };
    await Promise.all(Array.from({ length: 50 }, worker));
    session.destroy();
    expect(failures).toEqual([]);
    await until(() => running.running === 0);
    expect(running.ends).toHaveLength(20_000);
  });

  test('waits for an Envoy that does not read, keeps little, and loses nothing', async () => {
    running = await startService();
    const call = running.client.open({ request: 'FULL_DUPLEX_STREAMED', response: 'FULL_DUPLEX_STREAMED' });
    call.send({ ...getModels, headers: headersOf({ ':method': 'PUT', ':path': '/files' }), endOfStream: false });
    await call.next();
    call.pause();
    const piece = Buffer.alloc(60_000, 'x');
    const pieces = 400;
    const before = process.memoryUsage().arrayBuffers;
    for (let sent = 0; sent < pieces; sent++)
      call.send({ type: 'request_body', body: piece, endOfStream: sent === pieces - 1 });
    // What the service has read and not yet sent: far from the 24 MB that wait on the client's side.
    expect(await settled(running.readBytes)).toBeLessThan((pieces * piece.length) / 4);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(60 * 1024 * 1024);
    call.resume();
    let bytes = 0;
    for (let got = 0; got < pieces; got++) {
      bytes += (await call.next()).request_body?.response?.body_mutation?.streamed_response?.body?.length ?? 0;
    }
    expect(bytes).toBe(pieces * piece.length);
    call.cancel();
  });
});
