import { connect as connectHttp2 } from 'node:http2';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestMesh, type TestMesh } from '../support/mesh.ts';
import { completion, delta, done, eventStream, finish, gate, reset } from '../support/upstream.ts';
import { HandshakeError, openWebSocket } from '../support/websocket-client.ts';
import { expectEndAtUpstream, outlastTimeouts, says, startWebSocketMesh } from '../support/websocket-mesh.ts';

/** The first event of a server of another virtual host, which is not the filter's. */
const foreignEvents = {
  'without a Response': '{"type":"response.created"}',
  'that is not JSON': '{oops}',
  'whose Response is null': '{"type":"response.created","response":null}',
  'without a type': '{}',
};
/** A route that gives this event stream itself. */
const foreignAnswer = (body: string) => ({
  match: { prefix: '/' },
  direct_response: { status: 200, body: { inline_string: body } },
  response_headers_to_add: [
    {
      header: { key: 'content-type', value: 'text/event-stream' },
      append_action: 'OVERWRITE_IF_EXISTS_OR_ADD',
    },
  ],
  typed_per_filter_config: {
    'envoy.filters.http.ext_proc': {
      '@type': 'type.googleapis.com/envoy.extensions.filters.http.ext_proc.v3.ExtProcPerRoute',
      disabled: true,
    },
  },
});

let mesh: TestMesh;
beforeAll(async () => {
  mesh = await startWebSocketMesh({
    environment: { WEBSOCKET_ORIGINS: 'https://app.example' },
    edit(config) {
      const { route_config } = config.static_resources.listeners[0].filter_chains[0].filters[0].typed_config;
      const websocket = route_config.virtual_hosts[0].routes.find(({ name }) => name === 'websocket');
      for (const [index, data] of Object.values(foreignEvents).entries())
        route_config.virtual_hosts.push({
          name: `foreign-${index}`,
          domains: [`foreign-${index}.example`],
          routes: [websocket, foreignAnswer(`event: response.created\ndata: ${data}\n\n`)],
        } as unknown as (typeof route_config.virtual_hosts)[0]);
    },
  });
});
afterAll(() => mesh.close());

const open = (headers: Record<string, string> = {}) =>
  openWebSocket(`${mesh.url}/v1/responses`, { authorization: 'Bearer sk-of-the-client', ...headers });
const refusalOf = async (headers: Record<string, string>, url = mesh.url, path = '/v1/responses') => {
  const refused = await openWebSocket(`${url}${path}`, headers).then(
    () => null,
    (error: unknown) => error,
  );
  if (!(refused instanceof HandshakeError)) throw refused ?? new Error('the handshake was accepted');
  return refused;
};

describe('a turn on a WebSocket', () => {
  test('gets the very events that the same request gets over HTTP', async () => {
    mesh.upstream.script('same', says('Hel', 'lo'));
    const client = await open();
    const messages = await client.turn({ model: 'same', input: 'Hi' });
    const text = await (await mesh.post({ model: 'same', input: 'Hi', stream: true })).text();
    const events = [...text.matchAll(/^data: (\{.*)$/gm)].map(([, json = '']) => JSON.parse(json));
    const plain = (values: readonly object[]) =>
      JSON.parse(
        JSON.stringify(values)
          .replace(/"(resp|msg)_[0-9a-f]+"/g, '"$1"')
          .replace(/"(created_at|completed_at)":\d+/g, '"$1":0'),
      );
    expect(plain(messages)).toEqual(plain(events));
    expect(messages.map(({ sequence_number: n }) => n)).toEqual(messages.map((_, index) => index));
    const [overWebSocket, overHttp] = mesh.upstream.received('same');
    expect(overWebSocket?.json()).toEqual(overHttp?.json());
    await client.close();
  });

  test('carries the handshake’s credentials, and an id of its own that log lines share', async () => {
    mesh.upstream.script('ids', says('1'));
    const client = await open({ 'x-request-id': 'conversation-7', 'x-tenant': 'blue' });
    await client.turn({ model: 'ids', input: '1' });
    await client.turn({ model: 'ids', input: '2' });
    expect(mesh.upstream.received('ids').map(({ headers }) => headers)).toMatchObject([
      { authorization: 'Bearer sk-of-the-client', 'x-tenant': 'blue', 'x-request-id': 'conversation-7-turn-1' },
      { authorization: 'Bearer sk-of-the-client', 'x-tenant': 'blue', 'x-request-id': 'conversation-7-turn-2' },
    ]);
    for (const { headers } of mesh.upstream.received('ids'))
      expect(Object.keys(headers).filter((name) => name.startsWith('sec-websocket') || name === 'upgrade')).toEqual([]);
    await mesh.accessLog((line) => line['request_id'] === 'conversation-7-turn-2' && line['outcome'] === 'completed');
    await mesh.service.logged((line) => line['request_id'] === 'conversation-7-turn-2' && line['msg'] === 'exchange');
    await client.close();
    const line = await mesh.service.logged((entry) => entry['connection_id'] === 'conversation-7');
    expect(line).toMatchObject({ msg: 'websocket closed', code: 1005, reason: null, turns: { completed: 2 } });
  });

  test('is continued from the connection’s memory', async () => {
    mesh.upstream.script('chain', says('Four.'));
    const client = await open();
    const first = await client.turn({ model: 'chain', store: false, input: '2 + 2?' });
    const id = first.at(-1)?.response?.id;
    const second = await client.turn({ model: 'chain', store: false, previous_response_id: id, input: 'Twice that?' });
    expect(second.at(-1)).toMatchObject({ type: 'response.completed', response: { previous_response_id: id } });
    expect(mesh.upstream.received('chain').at(-1)?.json().messages).toEqual([
      { role: 'user', content: '2 + 2?' },
      { role: 'assistant', content: 'Four.' },
      { role: 'user', content: 'Twice that?' },
    ]);
    const other = await open();
    const foreign = await other.turn({ model: 'chain', previous_response_id: id, input: 'Hm?' });
    expect(foreign).toMatchObject([{ type: 'error', status: 400, error: { code: 'previous_response_not_found' } }]);
    await Promise.all([client.close(), other.close()]);
  });

  test('is refused as over HTTP, and the connection goes on', async () => {
    mesh.upstream.script('goes-on', says('Hi'));
    const client = await open();
    const body = { model: 'goes-on', store: true, input: 'Hi' };
    const [refusal] = await client.turn(body);
    const http = await mesh.post({ ...body, stream: true });
    expect(refusal).toEqual({ type: 'error', status: http.status, ...((await http.json()) as object) });
    expect((await client.turn({ model: 'goes-on', input: 'Hi' })).at(-1)?.type).toBe('response.completed');
    await client.close();
  });

  test('that the upstream refuses for now says when to try again', async () => {
    mesh.upstream.script('busy', {
      status: 429,
      headers: { 'retry-after': '7' },
      body: ['{"error":{"message":"Slow down."}}'],
    });
    const client = await open();
    expect(await client.turn({ model: 'busy', input: 'Hi' })).toMatchObject([
      { type: 'error', status: 429, error: { code: 'rate_limit_exceeded' }, headers: { 'retry-after': '7' } },
    ]);
    await client.close();
  });

  test('whose client disconnects ends at the upstream at once', async () => {
    await expectEndAtUpstream(mesh, await open());
    await mesh.service.logged((line) => line['msg'] === 'websocket closed' && line['code'] === 1006);
  });

  test('whose upstream resets the connection is told so at once, without Envoy’s delayed_close_timeout', async () => {
    const arrived = gate();
    mesh.upstream.script(
      'resets',
      { headers: eventStream, body: [delta({ content: 'a' }), arrived.passed, reset] },
      says('b'),
    );
    const client = await open();
    client.socket.on('message', arrived.open);
    const broken = await client.turn({ model: 'resets', input: 'Hi' });
    expect(broken.at(-1)).toMatchObject({ type: 'error', error: { code: 'upstream_stream_truncated' } });
    expect((await client.turn({ model: 'resets', input: 'Hi' })).at(-1)?.type).toBe('response.completed');
    await client.close();
  });

  test.each([...Object.keys(foreignEvents).entries()])(
    'of another virtual host (%i), with an event %s, fails alone',
    async (index) => {
      mesh.upstream.script('beside', says('1'));
      const [foreign, beside] = [await open({ host: `foreign-${index}.example` }), await open()];
      for (let turn = 0; turn < 2; turn++)
        expect(await foreign.turn({ model: 'm', input: 'Hi' })).toMatchObject([
          { type: 'error', status: 502, error: { code: 'invalid_upstream_response' } },
        ]);
      expect((await beside.turn({ model: 'beside', input: 'Hi' })).at(-1)).toMatchObject({
        type: 'response.completed',
      });
      await Promise.all([foreign.close(), beside.close()]);
    },
  );

  test('in lanes runs side by side', async () => {
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    mesh.upstream.script('slow', {
      headers: eventStream,
      body: [delta({ content: 'a' }), () => held, finish('stop'), done],
    });
    mesh.upstream.script('fast', says('b'));
    const client = await open();
    client.send({ type: 'response.create', stream_id: 'slow', model: 'slow', input: 'Hi' });
    await client.message(({ type, stream_id }) => type === 'response.output_text.delta' && stream_id === 'slow');
    client.send({ type: 'response.create', stream_id: 'fast', model: 'fast', input: 'Hi' });
    await client.message(({ type, stream_id }) => type === 'response.completed' && stream_id === 'fast');
    expect(client.received.filter(({ type }) => type === 'response.completed')).toHaveLength(1);
    release();
    await client.message(({ type, stream_id }) => type === 'response.completed' && stream_id === 'slow');
    await client.close();
  });

  test('that is a warm-up reaches no upstream', async () => {
    mesh.upstream.script('warm', says('Hi'));
    const client = await open();
    const warm = await client.turn({ model: 'warm', generate: false, instructions: 'Be brief.', input: [] });
    expect(warm.at(-1)).toMatchObject({ type: 'response.completed', response: { output: [] } });
    expect(mesh.upstream.received('warm')).toEqual([]);
    const id = warm.at(-1)?.response?.id;
    const next = await client.turn({ model: 'warm', previous_response_id: id, input: 'Hi' });
    expect(next.at(-1)?.type).toBe('response.completed');
    await client.close();
  });
});

describe('a connection', () => {
  test('is not bound by the time that Envoy gives requests', async () => {
    mesh.upstream.script('later', says('Hi'));
    const client = await open();
    await outlastTimeouts(mesh);
    expect((await client.turn({ model: 'later', input: 'Hi' })).at(-1)?.type).toBe('response.completed');
    await client.close();
  });

  test('works over HTTP/2 as well', async () => {
    mesh.upstream.script('h2', says('Hi'));
    const session = connectHttp2(mesh.url);
    await new Promise((resolve) => session.once('remoteSettings', resolve));
    expect(session.remoteSettings.enableConnectProtocol).toBe(true);
    const stream = session.request({
      ':method': 'CONNECT',
      ':protocol': 'websocket',
      ':path': '/v1/responses',
      'sec-websocket-version': '13',
    });
    const status = await new Promise((resolve) => stream.once('response', (headers) => resolve(headers[':status'])));
    expect(status).toBe(200);
    const text = JSON.stringify({ type: 'response.create', model: 'h2', input: 'Hi' });
    const mask = Buffer.alloc(4); // of zeros, so that the payload is as it is
    stream.write(Buffer.concat([Buffer.from([0x81, 0x80 | text.length]), mask, Buffer.from(text)]));
    let received = '';
    for await (const bytes of stream) {
      received += bytes;
      if (received.includes('response.completed')) break;
    }
    expect(received).toContain('response.output_text.delta');
    session.destroy();
  });

  test('from a page in a browser needs leave', async () => {
    const refused = await refusalOf({ origin: 'https://evil.example' });
    expect(refused.status).toBe(403);
    expect(JSON.parse(refused.body)).toMatchObject({ error: { code: 'origin_not_allowed' } });
    const client = await open({ origin: 'https://app.example' });
    await client.close();
  });

  test('opens on the path with a slash at its end, as posting works there', async () => {
    const client = await openWebSocket(`${mesh.url}/v1/responses/`);
    expect((await client.turn({ model: 'warm', generate: false, input: 'Hi' })).at(-1)?.type).toBe(
      'response.completed',
    );
    await client.close();
  });

  test('on another path is no business of the listener', async () => {
    for (const path of ['/v1/conversations', '/v1/responses/resp_1'])
      expect((await refusalOf({}, mesh.url, path)).status).not.toBe(101);
  });

  test('metrics count connections, turns and closes', async () => {
    const client = await open();
    expect(await mesh.service.metric('responses_extproc_websocket_connections')).toBeGreaterThanOrEqual(1);
    await client.turn({ model: 'warm', generate: false, input: 'Hi' });
    expect(await mesh.service.metric('responses_extproc_websocket_kept_bytes')).toBeGreaterThan(0);
    await client.close();
    await expect
      .poll(() => mesh.service.admin('/metrics'))
      .toMatch(/^responses_extproc_websocket_closes_total\{code="1005"\} \d+$/m);
    expect(await mesh.service.admin('/metrics')).toMatch(
      /^responses_extproc_websocket_turns_total\{outcome="completed"\} [1-9]/m,
    );
  });
});

describe('without the listener', () => {
  test('an upgrade is answered with 426, whose error says what to do', async () => {
    const plain = await startTestMesh();
    try {
      const refused = await refusalOf({}, plain.url);
      expect(refused.status).toBe(426);
      expect(JSON.parse(refused.body)).toMatchObject({ error: { code: 'websocket_not_supported' } });
      plain.upstream.script('plain', { body: [completion({ content: 'Hi' })] });
      expect((await plain.post({ model: 'plain', input: 'Hi' })).status).toBe(200);
    } finally {
      await plain.close();
    }
  });
});

test('a service that stops ends the running turn, then the connection, with 1001', async () => {
  const stopping = await startTestMesh({ webSocket: true, environment: { DRAIN_TIMEOUT_MS: '20000' } });
  try {
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    stopping.upstream.script('last', {
      headers: eventStream,
      body: [delta({ content: 'a' }), () => held, finish('stop'), done],
    });
    const idle = await openWebSocket(`${stopping.url}/v1/responses`);
    const busy = await openWebSocket(`${stopping.url}/v1/responses`);
    busy.send({ type: 'response.create', model: 'last', input: 'Hi' });
    await busy.message(({ type }) => type === 'response.output_text.delta');
    const ended = stopping.service.terminate();
    expect(await idle.closed).toEqual({ code: 1001, reason: 'server_shutting_down' });
    release();
    await busy.message(({ type }) => type === 'response.completed');
    expect(await busy.closed).toEqual({ code: 1001, reason: 'server_shutting_down' });
    expect(await ended).toBe('exit code 0');
  } finally {
    await stopping.close();
  }
});
