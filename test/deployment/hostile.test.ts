import { readdirSync } from 'node:fs';
import { type ClientHttp2Session, type ClientHttp2Stream, connect, type IncomingHttpHeaders } from 'node:http2';
import { connect as connectTcp } from 'node:net';
import { gzipSync } from 'node:zlib';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ProcessingRequest } from '../support/generated/envoy/service/ext_proc/v3/ProcessingRequest.ts';
import { residentMiB } from '../support/memory.ts';
import { processMethod } from '../support/proto-definitions.ts';
import { type ServiceProcess, startServiceProcess, withDescriptors } from '../support/service-process.ts';

/** Whoever reaches the port can send what Envoy never would. Nothing of it may end the process, or stay in it. */
let service: ServiceProcess;
let session: ClientHttp2Session;
let first: { readonly handles: number; readonly memory: number };

beforeAll(async () => {
  service = await startServiceProcess({ LOG_LEVEL: 'debug', MAX_REQUEST_BYTES: String(8 * 1024 * 1024) });
  session = open();
  for (let round = 0; round < 200; round++) await exchange();
  first = { handles: handles(), memory: residentMiB(service.child.pid) };
});
afterAll(async () => {
  session.destroy();
  await service.remove();
});

const open = () => connect(`http://${service.listen[0]}`).on('error', () => {});
const handles = () => readdirSync(`/proc/${service.child.pid}/fd`).length;

/** A gRPC frame around these bytes. */
function frame(bytes: Uint8Array, { compressed = 0, length = bytes.length } = {}): Buffer {
  const prefix = Buffer.alloc(5, compressed);
  prefix.writeUInt32BE(length, 1);
  return Buffer.concat([prefix, bytes]);
}
const framed = (message: ProcessingRequest) => frame(processMethod.requestSerialize(message));

const headers = (more: Record<string, string> = {}) =>
  Object.entries({ ':method': 'POST', ':path': '/v1/responses', ...more }).map(([key, value]) => ({
    key,
    raw_value: Buffer.from(value),
  }));
const requestHeaders: ProcessingRequest = {
  request_headers: { headers: { headers: headers() } },
  protocol_config: { request_body_mode: 'BUFFERED', response_body_mode: 'FULL_DUPLEX_STREAMED' },
};

function startCall(on = session, path = processMethod.path, metadata = {}): ClientHttp2Stream {
  const grpc = { 'content-type': 'application/grpc', te: 'trailers' };
  return on.request({ ':method': 'POST', ':path': path, ...grpc, ...metadata }).on('error', () => {});
}

/**
 * Sends these pieces in a call of its own; gives the gRPC status that ended it, or `open` if nothing had by the time an
 * exchange that came later on the connection was served. `untilStatus`: what ends it takes the service a while.
 */
async function send(
  pieces: readonly Uint8Array[],
  { metadata = {}, path = processMethod.path, untilReply = false, untilStatus = false } = {},
) {
  const call = startCall(session, path, metadata);
  let answered = false;
  const reply = new Promise((resolve) => call.once('data', resolve));
  const status = new Promise<string>((resolve) => {
    const end = (given: IncomingHttpHeaders) => resolve(String(given['grpc-status']));
    call.on('data', () => {
      answered = true;
    });
    call.on('response', (given) => given['grpc-status'] !== undefined && end(given));
    call.on('trailers', end);
    call.on('close', () => resolve('reset'));
  });
  for (const piece of pieces) call.write(piece);
  if (untilReply) await Promise.race([reply, status]);
  const end = await (untilStatus ? status : Promise.race([status, exchange().then(() => 'open')]));
  call.close(8);
  return { end, answered };
}

/** A whole exchange as Envoy makes it. */
async function exchange(): Promise<void> {
  const call = startCall();
  const next = () => new Promise((resolve) => call.once('data', resolve));
  call.write(framed(requestHeaders));
  await next();
  call.write(framed({ request_body: { body: Buffer.from('{"model":"m","input":"Hi"}'), end_of_stream: true } }));
  await next();
  call.close(8);
}

/** Whatever came before: it serves, nothing is left, and nobody was told of a mistake of ours. */
async function expectUnharmed(): Promise<void> {
  await exchange();
  await expect.poll(() => service.metric('responses_extproc_active_exchanges')).toBe(0);
  expect(await service.metric('responses_extproc_buffered_bytes')).toBe(0);
  expect(service.log.filter(({ level, outcome }) => level === 'error' || outcome === 'crashed')).toEqual([]);
}

describe('the gRPC port bears', () => {
  it('bytes that are no message', async () => {
    const samples = fc.sample(fc.uint8Array({ minLength: 8, maxLength: 200 }), { numRuns: 400, seed: 1 });
    const ends = await Promise.all(samples.map((bytes) => send([frame(bytes)])));
    // Some are the beginning of a message by chance.
    expect(ends.filter(({ end }) => end !== 'open').length).toBeGreaterThan(300);
    expect(ends.map(({ end }) => end)).not.toContain('0');
    await expectUnharmed();
  });

  it('frames that lie', async () => {
    const bytes = processMethod.requestSerialize(requestHeaders);
    expect((await send([frame(bytes, { length: 0xffff_ffff })])).end).toBe('8'); // RESOURCE_EXHAUSTED
    expect((await send([frame(bytes, { length: bytes.length + 9 })])).end).toBe('open'); // waits for the rest
    const gzip = { metadata: { 'grpc-encoding': 'gzip' }, untilStatus: true };
    expect((await send([frame(bytes, { compressed: 1 })], gzip)).end).toBe('13'); // INTERNAL
    const bomb = frame(gzipSync(Buffer.alloc(200 * 1024 * 1024)), { compressed: 1 });
    expect((await send([bomb], gzip)).end).toBe('8');
    expect((await send([frame(bytes)], { path: '/envoy.service.ext_proc.v3.ExternalProcessor/Nothing' })).end).toBe(
      '12',
    );
    await expectUnharmed();
  });

  it('a hundred thousand headers, and a header of megabytes', async () => {
    const many = Array.from({ length: 100_000 }, (_, index) => ({ key: `x-${index}`, raw_value: Buffer.from('1') }));
    const same = Array.from({ length: 100_000 }, () => ({ key: 'x-same', raw_value: Buffer.from('1') }));
    const long = [{ key: 'x-request-id', raw_value: Buffer.alloc(4_000_000, 'i') }];
    for (const more of [many, same, long]) {
      const message = { request_headers: { headers: { headers: [...headers(), ...more] } } };
      const sent = await send([framed({ ...requestHeaders, ...message })], { untilReply: true });
      expect(sent).toEqual({ end: 'open', answered: true });
    }
    await expectUnharmed();
  });

  it('messages in any order, and after the end', async () => {
    const message = fc.constantFrom<ProcessingRequest>(
      requestHeaders,
      { request_headers: { headers: { headers: headers({ ':path': '/other' }) } } },
      { request_body: { body: Buffer.from('{"model":"m","input":"Hi","stream":true}'), end_of_stream: true } },
      { request_body: { body: Buffer.from('{') } },
      { request_trailers: {} },
      {
        response_headers: { headers: { headers: headers({ ':status': '200', 'content-type': 'text/event-stream' }) } },
      },
      { response_headers: { headers: { headers: headers({ ':status': '99999' }) }, end_of_stream: true } },
      { response_body: { body: Buffer.from('data: {"choices":[{"delta":{"content":"x"}}]}\n\n') } },
      { response_body: { body: Buffer.from('{}'), end_of_stream: true } },
      { response_trailers: {} },
    );
    const scripts = fc.sample(fc.array(message, { minLength: 1, maxLength: 8 }), { numRuns: 600, seed: 1 });
    const ends = await Promise.all(
      scripts.map(async (messages) => ({ messages, ...(await send(messages.map(framed))) })),
    );
    const known = new Set(['open', '3']); // INVALID_ARGUMENT: the order was wrong
    expect(ends.filter(({ end }) => !known.has(end))).toEqual([]);
    await expectUnharmed();
  });

  it('thousands of calls that are opened and reset, with and without a message', async () => {
    for (let round = 0; round < 20; round++) {
      const calls = Array.from({ length: 250 }, (_, index) => {
        const call = startCall();
        if (index % 2 === 0) call.write(framed(requestHeaders));
        call.close(8);
        return new Promise((resolve) => call.once('close', resolve));
      });
      await Promise.all(calls);
    }
    await expectUnharmed();
  });

  it('who goes on sending when the call has its status', async () => {
    const before = residentMiB(service.child.pid);
    const calls: ClientHttp2Stream[] = [];
    for (let index = 0; index < 30; index++) {
      // Not all at first: a call without a message is ended after 10 s, and this would wait for a response that has been.
      const call = startCall();
      calls.push(call);
      const ended = new Promise((resolve) => call.once('response', resolve));
      call.write(frame(Buffer.alloc(0)));
      await ended;
      call.resume();
      await new Promise((resolve) =>
        call.write(frame(Buffer.alloc(7 * 1024 * 1024), { length: 8 * 1024 * 1024 }), resolve),
      );
    }
    expect(residentMiB(service.child.pid) - before).toBeLessThan(120);
    for (const call of calls) call.close(8);
    await expectUnharmed();
  });

  it('connections that break in the middle of a message', async () => {
    for (let round = 0; round < 50; round++) {
      const other = open();
      await new Promise((resolve) => other.once('connect', resolve));
      const call = startCall(other);
      call.write(framed(requestHeaders));
      call.write(frame(Buffer.alloc(100), { length: 100_000 }));
      if (round % 2 === 0) await service.get('/healthz'); // it has read the half
      other.destroy();
    }
    await expectUnharmed();
  });

  it('all of it without growing', async () => {
    await expect.poll(handles).toBeLessThanOrEqual(first.handles + 2);
    for (let round = 0; round < 200; round++) await exchange();
    expect(residentMiB(service.child.pid) - first.memory).toBeLessThan(250);
  });
});

it('as many connections as a process may have do not end it', async () => {
  const most = 128;
  // It measures its memory twice a second: these timers and those pass together.
  const script = `setInterval(() => console.log('{"msg":"half a second"}'), 500).unref();`;
  const nodeOptions = ['--import', `data:text/javascript,${encodeURIComponent(script)}`];
  const small = await startServiceProcess({}, { wrap: withDescriptors(most), nodeOptions });
  const halves = () => small.log.filter(({ msg }) => msg === 'half a second').length;
  try {
    const [host = '', port = ''] = (small.listen[0] ?? '').split(':');
    const all = Array.from({ length: 2 * most }, () => connectTcp(Number(port), host).on('error', () => {}));
    const open = () => readdirSync(`/proc/${small.child.pid}/fd`).length;
    await expect.poll(open).toBeGreaterThanOrEqual(most - 2);
    const before = halves();
    await expect.poll(halves).toBeGreaterThanOrEqual(before + 3);
    for (const socket of all) socket.destroy();
    await expect.poll(() => small.get('/readyz').then(({ status }) => status)).toBe(200);
  } finally {
    await small.remove();
  }
});
