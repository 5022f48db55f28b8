import { createServer, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';

/** How a replica fails a call that it has not answered yet. */
export const failures = {
  'closes the connection': (stream: ServerHttp2Stream) => stream.session?.destroy(),
  'refuses the stream': (stream: ServerHttp2Stream) => stream.close(7), // REFUSED_STREAM
  'resets the stream': (stream: ServerHttp2Stream) => stream.close(2), // INTERNAL_ERROR
  'answers UNAVAILABLE': (stream: ServerHttp2Stream) =>
    stream.respond({ ':status': 200, 'content-type': 'application/grpc', 'grpc-status': '14' }, { endStream: true }),
} as const satisfies Record<string, (stream: ServerHttp2Stream) => void>;

export interface FailingReplica {
  readonly port: number;
  /** Calls it has failed. */
  readonly failed: number;
  close(): Promise<void>;
}

/** A replica whose health check succeeds, but which fails every call once `afterBytes` of its messages have arrived. */
export async function startFailingReplica(
  fail: (stream: ServerHttp2Stream) => void,
  { afterBytes = 1 } = {},
): Promise<FailingReplica> {
  const sessions = new Set<ServerHttp2Session>();
  let failed = 0;
  const server = createServer();
  server.on('session', (session) => {
    sessions.add(session);
    session.once('close', () => sessions.delete(session));
    session.on('error', () => {}); // the other side disconnects too
  });
  server.on('stream', (stream, headers) => {
    stream.on('error', () => {});
    if (headers[':path'] === '/grpc.health.v1.Health/Check') return sayServing(stream);
    let bytes = 0;
    stream.on('data', (piece: Buffer) => {
      const before = bytes;
      bytes += piece.length;
      if (before >= afterBytes || bytes < afterBytes) return;
      failed += 1;
      fail(stream);
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    get failed() {
      return failed;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const session of sessions) session.destroy();
      }),
  };
}

/**
 * Sends requests until 20 were answered and one of them met the replica: which one is asked is chance, and Envoy's threads know
 * it only after a while. Throws where none of a thousand meets it. Resolves with how many were sent.
 */
export async function untilMet(replica: FailingReplica, send: (n: number) => Promise<void>): Promise<number> {
  for (let n = 0; n < 1000; n += 1) {
    if (n >= 20 && replica.failed > 0) return n;
    await send(n);
  }
  throw new Error('None of 1,000 requests met the failing replica.');
}

function sayServing(stream: ServerHttp2Stream): void {
  stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
  stream.once('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
  stream.end(Buffer.from([0, 0, 0, 0, 2, 8, 1])); // one message: HealthCheckResponse { status: SERVING }
}
