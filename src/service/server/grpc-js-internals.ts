import { once } from 'node:events';
import type { ClientHttp2Session, Http2Server, IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import { connect } from 'node:http2';
import { duplexPair } from 'node:stream';
import { Server, ServerCredentials } from '@grpc/grpc-js';
import { objectOf } from '../../formats/json/loose.ts';

/**
 * Everything that the service uses of grpc-js beyond its public interface. A new version may change any of it: `checkGrpcJsInternals`
 * finds out when the service is built, or before the first port is bound, so that a broken service does not start.
 */

class GrpcJsInternalsError extends Error {
  override readonly name = 'GrpcJsInternalsError';
  constructor(missing: string, options?: ErrorOptions) {
    super(
      `This version of @grpc/grpc-js has no ${missing}. Install the version that package-lock.json names, or adapt src/service/server/grpc-js-internals.ts.`,
      options,
    );
  }
}

/** Adds options of node:http2 to the servers that `bindAsync` will create. Remove it once grpc-js has channel options for them. */
export function setHttp2Options(server: Server, options: Readonly<Record<string, unknown>>): void {
  const common = objectOf<object>(Reflect.get(server, 'commonServerOptions'));
  if (common === null) throw new GrpcJsInternalsError('field `commonServerOptions` on Server');
  Object.assign(common, options);
}

/** The node:http2 servers that grpc-js has bound so far. Remove it once grpc-js can close connections that never open a stream. */
export function readHttp2Servers(server: Server): readonly Http2Server[] {
  const servers: unknown = Reflect.get(server, 'http2Servers');
  if (!(servers instanceof Map)) throw new GrpcJsInternalsError('field `http2Servers` on Server');
  return [...servers.keys()] as Http2Server[];
}

/**
 * Hands the streams for the method at `path` to `accept`, so that grpc-js makes no objects for these calls (docs/decisions/0005). All
 * other streams go to grpc-js. Call it right after the server is bound, before it can have a connection.
 */
export function takeStreams(
  server: Http2Server,
  path: string,
  accept: (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void,
): void {
  const [grpcJs, ...more] = server.listeners('stream') as StreamListener[];
  if (grpcJs === undefined || more.length > 0) throw new GrpcJsInternalsError('listener for streams of its own');
  server.removeAllListeners('stream');
  server.on('stream', (stream: ServerHttp2Stream, headers: IncomingHttpHeaders, flags: number) => {
    if (headers[':path'] === path) accept(stream, headers);
    else grpcJs.call(server, stream, headers, flags);
  });
}

/**
 * Stops the pings on all connections for a drain. node:http2 sends no ping on a connection that got a GOAWAY, and grpc-js would take
 * it for dead and destroy it with its running streams. Remove it once grpc-js stops its pings before it shuts down.
 */
export function stopPings(server: Server): void {
  const field = 'keepaliveTimeMs';
  if (typeof Reflect.get(server, field) !== 'number') throw new GrpcJsInternalsError(`field \`${field}\` on Server`);
  Reflect.set(server, field, 0);
}

type StreamListener = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders, flags: number) => void;

/** The version of Node with which `scripts/build.ts` has checked the bundle's grpc-js; not declared when run from the sources. */
declare const checkedNode: string | undefined;

/**
 * Makes two calls in memory to a server of its own: one that is taken from grpc-js and one that is not. Rejects with the name of what
 * is missing. Takes a few milliseconds, which a bundle saves where its build has already checked with this Node.
 */
export async function checkGrpcJsInternals(): Promise<void> {
  if (typeof checkedNode !== 'undefined' && checkedNode === process.version) return;
  const server = new Server();
  setHttp2Options(server, {});
  const injector = server.createConnectionInjector(ServerCredentials.createInsecure());
  const [near, far] = duplexPair();
  const session = connect('http://check', { createConnection: () => near });
  try {
    const [http2Server] = readHttp2Servers(server);
    if (http2Server === undefined) throw new GrpcJsInternalsError('server in `http2Servers`');
    takeStreams(http2Server, '/taken', (stream) => stream.respond({ ':status': 204 }, { endStream: true }));
    injector.injectConnection(far);
    if ((await readStatus(session, '/taken')) !== 204) throw new GrpcJsInternalsError('stream that can be taken');
    if ((await readStatus(session, '/left')) !== 200) throw new GrpcJsInternalsError('working call');
    stopPings(server);
  } catch (cause) {
    throw cause instanceof GrpcJsInternalsError ? cause : new GrpcJsInternalsError('working call', { cause });
  } finally {
    session.destroy();
    injector.destroy();
    server.forceShutdown();
  }
}

async function readStatus(session: ClientHttp2Session, path: string): Promise<unknown> {
  const headers = { ':method': 'POST', ':path': path, 'content-type': 'application/grpc', te: 'trailers' };
  const call = session.request(headers);
  const signal = AbortSignal.timeout(10_000);
  const [[response]] = await Promise.all([
    once(call, 'response', { signal }),
    once(call.resume(), 'close', { signal }),
  ]);
  return (response as IncomingHttpHeaders)[':status'];
}
