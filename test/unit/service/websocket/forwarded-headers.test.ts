import { expect, it } from 'vitest';
import { forwardedHeaders } from '../../../../src/service/websocket/forwarded-headers.ts';

/** As Node reads them. */
function distinct(headers: readonly (readonly [string, string])[]) {
  const found: Record<string, string[]> = {};
  for (const [given, value] of headers) {
    const name = given.toLowerCase();
    found[name] = [...(found[name] ?? []), value];
  }
  return found;
}

it('forwards credentials, the host, the trace and whatever else the handshake has', () => {
  const given = [
    ['Host', 'gateway'],
    ['Authorization', 'Bearer k'],
    ['OpenAI-Beta', 'responses_websockets=2026-02-06'],
    ['traceparent', '00-1-2-01'],
    ['X-Forwarded-For', '10.0.0.1'],
    ['cookie', 'a=1'],
  ] as const;
  expect(forwardedHeaders(distinct(given))).toEqual({
    host: 'gateway',
    authorization: 'Bearer k',
    'openai-beta': 'responses_websockets=2026-02-06',
    traceparent: '00-1-2-01',
    'x-forwarded-for': '10.0.0.1',
    cookie: 'a=1',
  });
});

it('leaves out what belongs to one connection, to a body, to the handshake, and to Envoy', () => {
  const given = [
    ['Connection', 'Upgrade, X-Mine'],
    ['X-Mine', '1'],
    ['Upgrade', 'websocket'],
    ['Sec-WebSocket-Key', 'k'],
    ['sec-websocket-protocol', 'p'],
    ['content-length', '0'],
    ['Content-Type', 'text/plain'],
    ['accept-encoding', 'gzip'],
    ['X-Request-Id', 'id'],
    ['x-envoy-upstream-rq-timeout-ms', '1'],
    ['transfer-encoding', 'chunked'],
  ] as const;
  expect(forwardedHeaders(distinct(given))).toEqual({});
});

it('joins the values of a header that comes more than once', () => {
  const given = [
    ['x-a', '1'],
    ['Cookie', 'a=1'],
    ['X-A', '2'],
    ['cookie', 'b=2'],
  ] as const;
  expect(forwardedHeaders(distinct(given))).toEqual({ 'x-a': '1, 2', cookie: 'a=1; b=2' });
});
