import type { IncomingMessage } from 'node:http';
import { expect, it } from 'vitest';
import { findHandshakeError, readForwardedHeaders } from '../../../../src/service/websocket/handshake.ts';

it('forwards credentials, the host, the trace and whatever else the handshake has', () => {
  const given = [
    ['Host', 'gateway'],
    ['Authorization', 'Bearer k'],
    ['OpenAI-Beta', 'responses_websockets=2026-02-06'],
    ['traceparent', '00-1-2-01'],
    ['X-Forwarded-For', '10.0.0.1'],
    ['cookie', 'a=1'],
  ] as const;
  expect(readForwardedHeaders(given.flat())).toEqual({
    host: 'gateway',
    authorization: 'Bearer k',
    'openai-beta': 'responses_websockets=2026-02-06',
    traceparent: '00-1-2-01',
    'x-forwarded-for': '10.0.0.1',
    cookie: 'a=1',
  });
});

it.each([
  // RFC 9110, and those that `connection` names.
  ...['Connection', 'keep-alive', 'Proxy-Authenticate', 'proxy-connection', 'TE', 'trailer', 'transfer-encoding'],
  ...['upgrade', 'X-Mine', 'x-other'],
  // Of a body.
  ...['accept', 'Accept-Encoding', 'content-encoding', 'content-length', 'Content-Type', 'expect'],
  // Of the handshake, of each turn, and Envoy's.
  ...['Sec-WebSocket-Key', 'sec-websocket-protocol', 'HTTP2-Settings', 'X-Request-Id', 'x-envoy-max-retries'],
])('leaves out what belongs to one connection, to a body, to the handshake, and to Envoy: %s', (name) => {
  expect(
    readForwardedHeaders(['connection', 'Upgrade,X-Mine', 'connection', ' x-OTHER ', name, '1', 'x-kept', '2']),
  ).toEqual({
    'x-kept': '2',
  });
});

it('joins the values of a header that comes more than once', () => {
  const given = [
    ['x-a', '1'],
    ['Cookie', 'a=1'],
    ['X-A', '2'],
    ['cookie', 'b=2'],
  ] as const;
  expect(readForwardedHeaders(given.flat())).toEqual({ 'x-a': '1, 2', cookie: 'a=1; b=2' });
});

it('takes any name for a header’s, also those that every object has', () => {
  const given = ['constructor', 'a', '__proto__', 'b', 'toString', 'c', 'constructor', 'd'];
  expect(Object.entries(readForwardedHeaders(given))).toEqual([
    ['constructor', 'a, d'],
    ['__proto__', 'b'],
    ['tostring', 'c'],
  ]);
});

it('knows a host from what cannot be one', () => {
  const isHost = (host: string | undefined) =>
    findHandshakeError({ url: '/v1/responses', headers: { host } } as IncomingMessage, [])?.error.code !==
    'invalid_host';
  for (const host of ['gateway', 'gateway.example:8443', '127.0.0.1:80', '[::1]', '[2001:db8::1]:80', 'a_b-c'])
    expect(isHost(host), host).toBe(true);
  for (const host of [undefined, '', 'u@gateway', 'gateway:', 'gateway:port', 'a b', 'a/b', 'a, b', '[::1', ':80'])
    expect(isHost(host), host).toBe(false);
});
