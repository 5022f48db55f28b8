import { EventEmitter } from 'node:events';
import type { Http2Server } from 'node:http2';
import type { Server } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import {
  checkGrpcJsInternals,
  readHttp2Servers,
  setHttp2Options,
  stopPings,
  takeStreams,
} from '../../../../src/service/server/grpc-js-internals.ts';

it('this version of grpc-js has all that the service needs of it', async () => {
  await expect(checkGrpcJsInternals()).resolves.toBeUndefined();
});

describe('a version of grpc-js that has moved', () => {
  const serverOf = (fields: object) => fields as unknown as Server;
  const streamsOf = (...listeners: (() => void)[]) => {
    const server = new EventEmitter();
    for (const listener of listeners) server.on('stream', listener);
    return () => takeStreams(server as unknown as Http2Server, '/p', () => {});
  };

  it.each<[string, () => unknown]>([
    ['field `commonServerOptions` on Server', () => setHttp2Options(serverOf({}), {})],
    ['field `commonServerOptions` on Server', () => setHttp2Options(serverOf({ commonServerOptions: null }), {})],
    ['field `commonServerOptions` on Server', () => setHttp2Options(serverOf({ commonServerOptions: 'a' }), {})],
    ['field `http2Servers` on Server', () => readHttp2Servers(serverOf({}))],
    ['field `http2Servers` on Server', () => readHttp2Servers(serverOf({ http2Servers: [] }))],
    ['listener for streams of its own', streamsOf()],
    [
      'listener for streams of its own',
      streamsOf(
        () => {},
        () => {},
      ),
    ],
    ['field `keepaliveTimeMs` on Server', () => stopPings(serverOf({}))],
    ['field `keepaliveTimeMs` on Server', () => stopPings(serverOf({ keepaliveTimeMs: '1' }))],
  ])('has no %s, and says so', (missing, use) => {
    expect(use).toThrow(
      `This version of @grpc/grpc-js has no ${missing}. Install the version that package-lock.json names, or adapt src/service/server/grpc-js-internals.ts.`,
    );
  });

  it('is told from one that has not', () => {
    const server = { commonServerOptions: { a: 1 }, http2Servers: new Map([['one', 1]]), keepaliveTimeMs: 7 };
    setHttp2Options(serverOf(server), { b: 2 });
    stopPings(serverOf(server));
    expect([server, readHttp2Servers(serverOf(server))]).toEqual([
      { commonServerOptions: { a: 1, b: 2 }, http2Servers: server.http2Servers, keepaliveTimeMs: 0 },
      ['one'],
    ]);
  });
});

it('streams of one path are taken, all others are grpc-js’s as before', () => {
  const server = new EventEmitter();
  const seen: unknown[] = [];
  server.on('stream', function (this: unknown, ...given) {
    seen.push(['grpc-js', this === server, ...given]);
  });
  takeStreams(server as unknown as Http2Server, '/mine', (...given) => void seen.push(['mine', ...given]));
  server.emit('stream', 'a', { ':path': '/mine' }, 1);
  server.emit('stream', 'b', { ':path': '/other' }, 2);
  expect(seen).toEqual([
    ['mine', 'a', { ':path': '/mine' }],
    ['grpc-js', true, 'b', { ':path': '/other' }, 2],
  ]);
});
