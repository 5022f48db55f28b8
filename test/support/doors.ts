import { connect as connectHttp2 } from 'node:http2';
import { connect } from 'node:net';
import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { connectExtProc } from './extproc-client.ts';
import { mutated } from './mutations.ts';
import { processMethod } from './proto-definitions.ts';
import { sendRequest } from './scripted-exchange.ts';
import { type LogLine, type ServiceProcess, startServiceProcess } from './service-process.ts';
import { eventStream, type ScriptedUpstream, startScriptedUpstream } from './upstream.ts';
import { openWebSocket } from './websocket-client.ts';

const response = (type: string) => JSON.stringify({ type, response: { id: 'resp_1', output: [] }, sequence_number: 0 });
const item = (type: string) => JSON.stringify({ type, output_index: 0, item: { type: 'message', id: 'msg_1' } });
/** So many of these bytes, which the output counts. */
const samplesOf = (name: string, bytes: fc.Arbitrary<Buffer>, count: number) => {
  const samples = fc.sample(bytes, count);
  console.log(`${name}: ${samples.length} inputs`);
  return samples;
};

/** An input that was sent. */
interface Sent {
  /** The service has handled it. Nothing says so of most. */
  readonly handled: Promise<unknown>;
  /** Nothing more is sent, or read. */
  end(): void;
}

/** Sends these bytes on a connection of its own. */
function sendRaw(address: string, pieces: readonly Uint8Array[]): Sent {
  const [host = '', port] = address.split(':');
  const socket = connect(Number(port), host);
  socket.on('error', () => {}).resume();
  const handled = new Promise((resolve) => socket.once('close', resolve));
  for (const piece of pieces) socket.write(piece);
  return { handled, end: () => socket.destroy() };
}

/** Handles all of them, twenty at a time. */
async function each(inputs: readonly Buffer[], handle: (some: readonly Buffer[], first: number) => Promise<unknown>) {
  for (let first = 0; first < inputs.length; first += 20) await handle(inputs.slice(first, first + 20), first);
}

/** Sends all of them; each has as many turns of the service as it takes to answer ten requests that came after it. */
async function sendEach(service: ServiceProcess, inputs: readonly Buffer[], send: (input: Buffer) => Sent) {
  const turns = async () => {
    for (let turn = 0; turn < 10; turn += 1) await service.get('/healthz');
  };
  await each(inputs, async (some) => {
    const all = some.map(send);
    await Promise.race([Promise.all(all.map(({ handled }) => handled)), turns()]);
    for (const one of all) one.end();
  });
}

/**
 * The tests of the doors of docs/architecture.md through which a service takes foreign bytes, under the Node whose program `node`
 * gives. None of these bytes may end it.
 */
export function testDoors(node: () => string): void {
  let proxy: ScriptedUpstream;
  let service: ServiceProcess;
  let admin: string;
  let webSocket: string;
  beforeAll(async () => {
    proxy = await startScriptedUpstream({ http2: true });
    proxy.script('plain', { headers: eventStream, body: [`data: ${response('response.completed')}\n\n`] });
    const program = node();
    service = await startServiceProcess(
      {
        INSPECT: 'on',
        WEBSOCKET_LISTEN: '127.0.0.1:0',
        WEBSOCKET_FORWARD_TO: `http://127.0.0.1:${proxy.port}/v1`,
      },
      { wrap: (_command, args) => [program, args] },
    );
    const listening = service.log.find(({ msg }) => msg === 'listening');
    admin = String(listening?.['admin']);
    webSocket = String(listening?.['websocket']);
  });
  afterAll(async () => {
    await service.remove();
    await proxy.close();
  });

  /** The next request of each kind is served, and nothing was thrown. */
  async function expectUnharmed(): Promise<void> {
    const client = connectExtProc(service.listen[0] ?? '');
    const { call, last } = await sendRequest(client, '{"model":"m","input":"Hi"}');
    expect(last).toHaveProperty('request_body');
    call.cancel();
    client.close();
    const other = await openWebSocket(`http://${webSocket}/v1/responses`);
    expect((await other.turn({ model: 'plain', input: 'Hi' })).at(-1)).toMatchObject({ type: 'response.completed' });
    await other.close();
    expect((await service.get('/readyz')).status).toBe(200);
    const isDefect = ({ msg, outcome }: LogLine) =>
      msg === 'internal error' || msg === 'uncaught exception' || msg === 'stopping' || outcome === 'crashed';
    expect(service.log.filter(isDefect)).toEqual([]);
  }

  test('a gRPC stream takes any bytes', async () => {
    const message = processMethod.requestSerialize({
      request_headers: {
        headers: {
          headers: Object.entries({ ':method': 'POST', ':path': '/v1/responses', 'x-request-id': 'a' }).map(
            ([key, value]) => ({ key, raw_value: Buffer.from(value) }),
          ),
        },
      },
      protocol_config: { request_body_mode: 'BUFFERED', response_body_mode: 'FULL_DUPLEX_STREAMED' },
    });
    const body = processMethod.requestSerialize({
      request_body: { body: Buffer.from('{"model":"m","input":"Hi"}'), end_of_stream: true },
    });
    const framed = (bytes: Uint8Array) => {
      const head = Buffer.alloc(5);
      head.writeUInt32BE(bytes.length, 1);
      return Buffer.concat([head, bytes]);
    };
    const whole = Buffer.concat([framed(message), framed(body)]);
    const session = connectHttp2(`http://${service.listen[0]}`).on('error', () => {});
    await sendEach(service, samplesOf('gRPC stream', mutated([whole, framed(message)]), 500), (bytes) => {
      const headers = {
        ':method': 'POST',
        ':path': processMethod.path,
        'content-type': 'application/grpc',
        te: 'trailers',
      };
      const call = session.request(headers).on('error', () => {});
      const handled = new Promise((resolve) => call.once('data', resolve).once('close', resolve));
      call.end(bytes);
      return { handled, end: () => call.close(8) };
    });
    session.destroy();
    await expectUnharmed();
  });

  const handshake = (more: string) =>
    `GET /v1/responses?a=b HTTP/1.1\r\nhost: gateway\r\nconnection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: cmVzcG9uc2VzLWV4dHByYw==\r\n${more}\r\n`;
  const names = 'constructor: a\r\n__proto__: b\r\ntoString: c\r\nconstructor: d\r\n';
  const text = (json: string) =>
    Buffer.concat([Buffer.from([0x81, 0x80 | json.length, 0, 0, 0, 0]), Buffer.from(json)]);
  const create = text('{"type":"response.create","model":"plain","input":"Hi"}');

  test('a WebSocket’s handshake takes any bytes, and a turn any headers', async () => {
    const samples = [
      handshake(''),
      handshake(names),
      handshake('cookie: a\r\norigin: b\r\nte: c\r\nx-request-id: d\r\n'),
    ];
    await sendEach(service, samplesOf('handshake', mutated(samples), 300), (bytes) =>
      sendRaw(webSocket, [bytes, create]),
    );
    await expectUnharmed();
  });

  test('a WebSocket’s frames take any bytes', async () => {
    const steer = text('{"type":"response.steer","previous_response_id":"resp_1","input":[{}]}');
    const interrupt = text('{"type":"response.interrupt","response_id":"resp_1","mode":"discard_partial_items"}');
    const lane = text('{"type":"response.create","stream_id":"a","previous_response_id":"resp_1","input":[]}');
    const ping = Buffer.from([0x89, 0x80, 0, 0, 0, 0]);
    const samples = [create, Buffer.concat([create, lane, ping]), Buffer.concat([steer, interrupt, create])];
    await sendEach(service, samplesOf('frames', mutated(samples), 300), (bytes) =>
      sendRaw(webSocket, [Buffer.from(handshake('')), bytes]),
    );
    await expectUnharmed();
  });

  test('a turn’s answer may be of any bytes', async () => {
    const events = [
      'response.created',
      'response.output_item.added',
      'response.output_item.done',
      'response.completed',
    ];
    const stream = events
      .map((type) => `event: ${type}\ndata: ${type.includes('item') ? item(type) : response(type)}\n\n`)
      .join('');
    const error = '{"error":{"type":"invalid_request","code":"a","param":null,"message":"b"}}';
    const failed = `event: error\ndata: {"type":"error","sequence_number":1}\n\ndata: ${response('response.failed')}\n\n`;
    const answers = samplesOf('answers', mutated([stream, `${stream}data: [DONE]\n\n`, failed, error]), 300);
    const answer = async (bytes: Buffer, index: number) => {
      const status = [200, 200, 200, 400, 500][index % 5] ?? 200;
      const headers = status === 200 ? eventStream : { 'content-type': 'application/json', 'retry-after': '1' };
      proxy.script(`any-${index}`, { status, headers, body: [bytes.subarray(0, index), bytes.subarray(index)] });
      const client = await openWebSocket(`http://${webSocket}/v1/responses`);
      client.send({ type: 'response.create', model: `any-${index}`, input: 'Hi' });
      // Whatever came, the turn ends in one message, and every message is JSON with a type.
      await client.message(({ type }) => /^(error|response\.(completed|incomplete|failed))$/.test(type));
      for (const { type } of client.received) expect(type).toEqual(expect.any(String));
      client.socket.terminate();
    };
    await each(answers, (some, first) => Promise.all(some.map((bytes, index) => answer(bytes, first + index))));
    await expectUnharmed();
  });

  test('the admin port and the inspector take any request', async () => {
    const paths = [
      '/',
      '/config',
      '/metrics',
      '/inspect/',
      '/inspect/exchanges/1?from=1,1,1',
      '/inspect/send?path=/v1/responses',
    ];
    const samples = paths.flatMap((path) => [
      `GET ${path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n${names}\r\n`,
      `POST ${path} HTTP/1.1\r\nhost: localhost\r\norigin: http://localhost\r\nsec-fetch-site: none\r\ncontent-length: 2\r\n\r\n{}`,
    ]);
    await sendEach(service, samplesOf('admin', mutated(samples), 300), (bytes) => sendRaw(admin, [bytes]));
    await expectUnharmed();
  });
}
