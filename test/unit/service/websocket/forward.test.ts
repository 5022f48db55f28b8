import { once } from 'node:events';
import http2, {
  constants,
  createServer,
  type Http2Server,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import { syncBuiltinESMExports } from 'node:module';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { createForwarder, readTurnNumber, writeTurnRequestId } from '../../../../src/service/websocket/forward.ts';
import type { AnswerListener, ForwardTurn } from '../../../../src/service/websocket/turn.ts';

let server: Http2Server;
let forwarder: ReturnType<typeof createForwarder>;
let sessions: ServerHttp2Session[];
const port = () => (server.address() as AddressInfo).port;

beforeEach(async () => {
  sessions = [];
  server = createServer().listen(0, '127.0.0.1');
  server.on('session', (session) => sessions.push(session));
  await once(server, 'listening');
  forwarder = createForwarder(`http://127.0.0.1:${port()}/v1//`);
});
afterEach(async () => {
  forwarder.close();
  await new Promise((resolve) => server.close(resolve));
});

/** The proxy's next request: its headers, its body, its stream. */
async function asked() {
  const [stream, headers] = (await once(server, 'stream')) as [ServerHttp2Stream, Record<string, string>];
  const pieces: Buffer[] = [];
  for await (const piece of stream) pieces.push(piece as Buffer);
  return { stream: stream.on('error', () => {}), headers, body: String(Buffer.concat(pieces)) };
}

/** Sends a turn, and notes what is told of its answer; `begun` resolves with the first bytes of its body, `ended` with the last. */
function send(forward: ForwardTurn, body: readonly Buffer[] = [Buffer.from('{}')], number = 1) {
  const told: unknown[] = [];
  const { promise: ended, resolve } = Promise.withResolvers<unknown>();
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
  const listener: AnswerListener = {
    headers: (head) => void told.push(head),
    body(bytes) {
      told.push(String(bytes));
      begin();
    },
    end() {
      told.push('end');
      resolve('end');
    },
    broken(reason) {
      told.push(`broken: ${reason}`);
      resolve(reason);
    },
  };
  return { told, begun, ended, turn: forward(body, number, listener) };
}

it('the id of a turn’s request is that of its connection with its number, and is read again', () => {
  expect(writeTurnRequestId('id', 7)).toBe('id-turn-7');
  expect(readTurnNumber('id-turn-7', 'id')).toBe(7);
  expect(readTurnNumber('other-turn-7', 'id')).toBeNull();
  expect(readTurnNumber('id-turn', 'id')).toBeNull();
});

describe('a turn', () => {
  it('is a POST with the client’s headers and its own', async () => {
    const forward = forwarder.forConnection(
      { host: 'api.example', authorization: 'Bearer k', accept: 'x', 'content-type': 'x' },
      '?v=2',
      'id',
    );
    const request = asked();
    send(forward, [Buffer.from('{"a":'), Buffer.from('1}')], 3);
    const { headers, body } = await request;
    expect([Object.entries(headers).toSorted(), body]).toEqual([
      Object.entries({
        ':method': 'POST',
        ':scheme': 'http',
        ':authority': 'api.example',
        ':path': '/v1/responses?v=2',
        authorization: 'Bearer k',
        accept: 'text/event-stream',
        'content-type': 'application/json',
        'content-length': '7',
        'x-request-id': 'id-turn-3',
      }).toSorted(),
      '{"a":1}',
    ]);
  });

  it('goes to the proxy’s own host where the handshake had none, and its answer is told in order', async () => {
    const request = asked();
    const { told, ended } = send(forwarder.forConnection({}, '', 'id'));
    const { stream, headers } = await request;
    expect(headers[':authority']).toBe(`127.0.0.1:${port()}`);
    stream.respond({ ':status': 429, 'content-type': 'application/json', 'retry-after': '7' });
    stream.end('{}');
    await ended;
    expect(told).toEqual([{ status: 429, contentType: 'application/json', retryAfter: '7' }, '{}', 'end']);
  });

  it('has an answer without a type and without advice', async () => {
    const request = asked();
    const { told, ended } = send(forwarder.forConnection({}, '', 'id'));
    (await request).stream.respond({ ':status': 204 }, { endStream: true });
    await ended;
    expect(told).toEqual([{ status: 204, contentType: '', retryAfter: null }, 'end']);
  });

  it.each<[string, (stream: ServerHttp2Stream) => void]>([
    ['before an answer', (stream) => stream.close(constants.NGHTTP2_NO_ERROR)],
    ['in the middle of one', (stream) => stream.session?.destroy()],
  ])('that breaks off %s is told so, once', async (when, breakOff) => {
    const request = asked();
    const { told, begun, ended } = send(forwarder.forConnection({}, '', 'id'));
    const { stream } = await request;
    if (when !== 'before an answer') {
      stream.respond({ ':status': 200 });
      stream.write('half');
      await begun;
    }
    breakOff(stream);
    await ended;
    // Node tells of a connection that is gone in the middle as of an end; the turn finds that its last event is missing.
    expect(told).toEqual(
      when === 'before an answer'
        ? ['broken: it broke off']
        : [expect.objectContaining({ status: 200 }), 'half', expect.stringMatching(/^(end|broken: .+)$/)],
    );
  });

  it('that breaks off while nobody reads its answer is told so', async () => {
    const request = asked();
    const { told, begun, ended, turn } = send(forwarder.forConnection({}, '', 'id'));
    const { stream } = await request;
    stream.respond({ ':status': 200 });
    stream.write('half');
    await begun;
    turn.pause();
    stream.write('more');
    stream.close(constants.NGHTTP2_CANCEL);
    expect(await ended).toBe('it broke off');
    expect(told).toHaveLength(3);
  });

  it('that the proxy resets with an error is told the error', async () => {
    const request = asked();
    const { ended } = send(forwarder.forConnection({}, '', 'id'));
    (await request).stream.close(constants.NGHTTP2_INTERNAL_ERROR);
    expect(await ended).toBe('Stream closed with error code NGHTTP2_INTERNAL_ERROR');
  });

  it('that is not taken is told why, in the words of the system', async () => {
    const nobody = createForwarder('http://127.0.0.1:1');
    const { told, ended } = send(nobody.forConnection({}, '', 'id'));
    await ended;
    expect(told).toEqual(['broken: connect ECONNREFUSED 127.0.0.1:1']);
  });

  it('whose headers HTTP/2 cannot carry is told so, and can be paused and aborted as any other', () => {
    const { told, turn } = send(forwarder.forConnection({ 'a b': '1' }, '', 'id'));
    expect(told).toEqual([expect.stringMatching(/^broken: .*a b/)]);
    for (const act of [turn.pause, turn.resume, turn.abort]) act();
    expect(told).toHaveLength(1);
  });

  it('that is aborted is cancelled, and tells nothing more', async () => {
    const request = asked();
    const { told, turn } = send(forwarder.forConnection({}, '', 'id'));
    const { stream } = await request;
    const closed = once(stream, 'close');
    turn.abort();
    await closed;
    expect([stream.rstCode, told]).toEqual([constants.NGHTTP2_CANCEL, []]);
  });
});

describe('the connection to the proxy', () => {
  it('takes no new turns when nothing has come over it for a time', async () => {
    const connect = vi.spyOn(http2, 'connect');
    syncBuiltinESMExports();
    onTestFinished(() => {
      connect.mockRestore();
      syncBuiltinESMExports();
    });
    const request = asked();
    const { ended } = send(forwarder.forConnection({}, '', 'id'));
    const { stream } = await request;
    const [session] = connect.mock.results.map(({ value }) => value as http2.ClientHttp2Session);
    session?.emit('timeout');
    expect([session?.closed, session?.destroyed]).toEqual([true, false]);
    stream.respond({ ':status': 200 }, { endStream: true });
    expect(await ended).toBe('end');
  });

  it('carries the turns of one client, and another has its own', async () => {
    const forward = forwarder.forConnection({}, '', 'id');
    const other = forwarder.forConnection({}, '', 'other');
    for (const one of [forward, forward, other]) {
      const request = asked();
      const { ended } = send(one);
      (await request).stream.respond({ ':status': 200 }, { endStream: true });
      await ended;
    }
    expect(sessions).toHaveLength(2);
    expect(sessions[0]?.remoteSettings.enablePush).toBe(false);
  });

  it('is opened anew once the other has been closed', async () => {
    const forward = forwarder.forConnection({}, '', 'id');
    for (const round of [1, 2]) {
      const request = asked();
      const { ended } = send(forward);
      (await request).stream.respond({ ':status': 200 }, { endStream: true });
      await ended;
      expect(sessions).toHaveLength(round);
      const closed = once(sessions[round - 1] as ServerHttp2Session, 'close');
      sessions[round - 1]?.close();
      await closed;
    }
  });
});

it('a forwarder that is closed leaves no connection, and its turns are told', async () => {
  const request = asked();
  const { ended } = send(forwarder.forConnection({}, '', 'id'));
  await request;
  const closed = once(sessions[0] as ServerHttp2Session, 'close');
  forwarder.close();
  await closed;
  expect(await ended).toEqual(expect.any(String));
});
