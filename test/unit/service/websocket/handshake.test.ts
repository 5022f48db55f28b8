import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { findCluster } from '../../../../mesh/envoy-config.ts';
import { turnError } from '../../../../src/service/websocket/errors.ts';
import {
  answerHttp,
  findHandshakeError,
  readIdentity,
  readQuery,
  refuseUpgrade,
} from '../../../../src/service/websocket/handshake.ts';

const requestOf = (url: string | undefined, headers: Readonly<Record<string, string>> = {}) =>
  ({ url, headers: { host: 'gateway', ...headers } }) as unknown as IncomingMessage;

describe('a handshake', () => {
  it.each([
    ['/v1/responses', null],
    ['/responses/?a=/models', null],
    ['/openai/v1/responses?api-version=2', null],
    ['/v1/responses/x', 404],
    ['/v1/models?path=/responses', 404],
    ['/v1/myresponses', 404],
    [undefined, 404],
  ])('of %s is for this listener, or not: %j', (url, status) => {
    expect(findHandshakeError(requestOf(url), [])?.status ?? null).toBe(status);
  });

  it.each<[origins: string[], origin: string | null, isAllowed: boolean]>([
    [[], null, true],
    [[], 'https://a.example', false],
    [['https://a.example'], 'https://a.example', true],
    [['https://b.example', '*'], 'https://a.example', true],
    [['https://a.example'], 'https://a.example.evil', false],
  ])('with the origins %j allowed may come from %j: %j', (origins, origin, isAllowed) => {
    const error = findHandshakeError(requestOf('/v1/responses', origin === null ? {} : { origin }), origins);
    expect(error).toEqual(
      isAllowed
        ? null
        : {
            status: 403,
            error: {
              type: 'invalid_request',
              code: 'origin_not_allowed',
              param: null,
              message: 'Pages of this origin may not connect. The operator can allow the origin in WEBSOCKET_ORIGINS.',
            },
          },
    );
  });

  it('without a host that can be a turn’s is a 400', () => {
    const error = findHandshakeError(requestOf('/v1/responses', { host: 'a b' }), []);
    expect(error).toMatchObject({ status: 400, error: { type: 'invalid_request', code: 'invalid_host', param: null } });
  });

  it('has an id that can be repeated, or none, and the client’s program', () => {
    for (const id of ['a', 'A_1.b:c-d', 'x'.repeat(128)])
      expect(readIdentity(requestOf('/', { 'x-request-id': id })).id).toBe(id);
    for (const id of ['', 'a b', 'ä', 'a\n', 'x'.repeat(129)])
      expect(readIdentity(requestOf('/', { 'x-request-id': id })).id).toBeNull();
    expect(readIdentity(requestOf('/'))).toEqual({ id: null, userAgent: null });
    expect(readIdentity(requestOf('/', { 'user-agent': 'codex' })).userAgent).toBe('codex');
  });

  it.each([
    ['/v1/responses?a=1&b=?', '?a=1&b=?'],
    ['/v1/responses', ''],
    [undefined, ''],
  ])('of %s has a query: %j', (url, query) => {
    expect(readQuery(requestOf(url))).toBe(query);
  });

  const refused = (error: Parameters<typeof refuseUpgrade>[1]) => {
    const socket = new PassThrough();
    refuseUpgrade(socket, error);
    return [String(socket.read()), socket.writableEnded];
  };

  it('that is refused is told why, and when to try again', () => {
    const body = '{"error":{"type":"server_error","code":"c","param":null,"message":"Lätst."}}';
    const answer = (status: number, more: readonly string[]) =>
      [
        `HTTP/1.1 ${status} Refused`,
        'content-type: application/json',
        ...more,
        `content-length: ${Buffer.byteLength(body)}`,
        ...['connection: close', '', body],
      ].join('\r\n');
    const error = (status: number) => turnError(status, 'c', 'Lätst.');
    expect(refused(error(503))).toEqual([answer(503, ['retry-after: 2']), true]);
    expect(refused(error(500))).toEqual([answer(500, []), true]);
    expect(refused({ ...error(503), headers: { 'retry-after': '7', 'x-a': 'b' } })).toEqual([
      answer(503, ['retry-after: 7', 'x-a: b']),
      true,
    ]);
  });
});

describe('a request that is no handshake', () => {
  const answered = (url: string, isDraining = false) => {
    let head: unknown[] = [];
    let body = '';
    const response = {
      writeHead(...given: unknown[]) {
        head = given;
        return response;
      },
      end(text: string) {
        body = text;
      },
    };
    answerHttp(requestOf(url), response as unknown as ServerResponse, () => isDraining);
    return [...head, body];
  };

  it('has its health where envoy.yaml looks for it', () => {
    const file = readFileSync(new URL('../../../../envoy/envoy.yaml', import.meta.url), 'utf8');
    const asked = findCluster(parse(file), 'responses_extproc_websocket')['health_checks'];
    const [{ http_health_check: check }] = asked as [{ http_health_check: { path: string } }];
    expect([answered(check.path), answered(check.path, true)].map(([status]) => status)).toEqual([200, 503]);
  });

  it('is told what this listener is for; health is answered', () => {
    expect(answered('/healthz')).toEqual([200, { 'content-type': 'text/plain' }, 'ok\n']);
    expect(answered('/healthz', true)).toEqual([503, { 'content-type': 'text/plain' }, 'draining\n']);
    expect(answered('/v1/responses')).toEqual([
      426,
      { 'content-type': 'application/json', upgrade: 'websocket', connection: 'close' },
      '{"error":{"type":"invalid_request","code":"websocket_required","param":null,"message":"This port accepts only WebSockets. Send HTTP requests to the proxy."}}',
    ]);
  });
});
