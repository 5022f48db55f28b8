import { once } from 'node:events';
import { connect, type Http2Server, type ServerHttp2Stream } from 'node:http2';
import { duplexPair } from 'node:stream';
import {
  Server,
  ServerCredentials,
  ServerInterceptingCall,
  type ServerInterceptor,
  type ServiceDefinition,
  status,
} from '@grpc/grpc-js';

/**
 * All that this service reads of grpc-js beyond its public interface, in one place. A new version may keep any of it
 * elsewhere: `checkGrpcJsInternals` finds out before the first port is bound, so that an upgrade that breaks this is a
 * service that does not start, never one that is ready and fails every call.
 */

type InterceptedCall = Parameters<ServerInterceptor>[1];

/** grpc-js keeps something elsewhere: the service cannot run with this version of it. */
class GrpcJsInternalsError extends Error {
  override readonly name = 'GrpcJsInternalsError';
  constructor(missing: string, options?: ErrorOptions) {
    super(
      `This version of @grpc/grpc-js has no ${missing}. Install the version that package-lock.json names, or adapt src/server/grpc-js-internals.ts.`,
      options,
    );
  }
}

/**
 * The HTTP/2 stream of a call, with grpc-js's own listener for its bytes removed: from here on the caller of this
 * function is the only reader. Throws when grpc-js has no such field.
 *
 * Gains: a message costs neither two copies, nor a promise, nor an object stream each way (docs/decisions/0005).
 * Delete it when grpc-js offers a call's messages as bytes without those costs.
 */
export function takeHttp2Stream(call: InterceptedCall): ServerHttp2Stream {
  const stream = Reflect.get(call, 'stream') as ServerHttp2Stream | undefined;
  if (typeof stream?.respond !== 'function' || typeof stream.removeAllListeners !== 'function')
    throw new GrpcJsInternalsError('field `stream` on a server call');
  return stream.removeAllListeners('data');
}

/**
 * Adds options of node:http2 to the servers that grpc-js will create. Call it before `bindAsync`. Throws when grpc-js
 * has no such field. Delete it when grpc-js has channel options for them.
 */
export function setHttp2Options(server: Server, options: Readonly<Record<string, unknown>>): void {
  const common: unknown = Reflect.get(server, 'commonServerOptions');
  if (typeof common !== 'object' || common === null)
    throw new GrpcJsInternalsError('field `commonServerOptions` on Server');
  Object.assign(common, options);
}

/**
 * The node:http2 servers that grpc-js has bound so far, for what it does not offer on connections. Throws when grpc-js
 * has no such field. Delete it when grpc-js can close connections that never open a stream.
 */
export function http2ServersOf(server: Server): readonly Http2Server[] {
  const servers: unknown = Reflect.get(server, 'http2Servers');
  if (!(servers instanceof Map)) throw new GrpcJsInternalsError('field `http2Servers` on Server');
  return [...servers.keys()] as Http2Server[];
}

/**
 * Makes one real call, through memory, to a server of its own and looks for everything above. Rejects with the name of
 * what is missing. Takes a few milliseconds; call it once, before anything is bound.
 */
export async function checkGrpcJsInternals(): Promise<void> {
  let problem: unknown = new GrpcJsInternalsError('server interceptors');
  const path = '/internals.Check/Call';
  const interceptor: ServerInterceptor = (_method, call) => {
    try {
      takeHttp2Stream(call);
      problem = null;
    } catch (error) {
      problem = error;
    }
    const start = () => call.sendStatus({ code: status.OK, details: 'OK' });
    return new ServerInterceptingCall(call, { start });
  };
  const server = new Server({ interceptors: [interceptor] });
  const bytes = (value: Buffer) => value;
  const method = { path, requestStream: true, responseStream: true, originalName: 'call' };
  const codec = { requestSerialize: bytes, requestDeserialize: bytes, responseSerialize: bytes };
  const service = { Call: { ...method, ...codec, responseDeserialize: bytes } } satisfies ServiceDefinition;
  server.addService(service, { Call: () => {} });
  setHttp2Options(server, {});

  const injector = server.createConnectionInjector(ServerCredentials.createInsecure());
  const [near, far] = duplexPair();
  const session = connect('http://check', { createConnection: () => near });
  try {
    if (http2ServersOf(server).length !== 1) throw new GrpcJsInternalsError('server in `http2Servers`');
    injector.injectConnection(far);
    const headers = { ':method': 'POST', ':path': path, 'content-type': 'application/grpc', te: 'trailers' };
    const call = session.request(headers, { endStream: true });
    await once(call.resume(), 'close', { signal: AbortSignal.timeout(10_000) });
  } catch (cause) {
    throw cause instanceof GrpcJsInternalsError ? cause : new GrpcJsInternalsError('working call', { cause });
  } finally {
    session.destroy();
    injector.destroy();
    server.forceShutdown();
  }
  if (problem !== null) throw problem;
}
