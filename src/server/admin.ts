import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface AdminSources {
  /** True while new exchanges are welcome: listening, and not draining. */
  ready(): boolean;
  /** The Prometheus exposition, and its content type. */
  metrics(): Promise<{ readonly contentType: string; readonly body: string }>;
  /** What runs with which settings; secrets already left out. */
  config(): Readonly<Record<string, unknown>>;
}

export interface AdminServer {
  /** `HOST:PORT`, the port being the one the system gave when 0 was asked for. */
  readonly address: string;
  close(): Promise<void>;
}

interface Answer {
  readonly status: number;
  readonly contentType?: string;
  readonly body: string;
}

/**
 * Probes, metrics and the configuration in force, for operators; it listens on loopback unless told otherwise, and
 * changes nothing. `listen` is `HOST:PORT` (an IPv6 host in brackets). Rejects when it cannot listen there.
 */
export async function startAdminServer(listen: string, sources: AdminSources): Promise<AdminServer> {
  const pages: Readonly<Record<string, () => Answer | Promise<Answer>>> = {
    '/healthz': () => ({ status: 200, body: 'ok\n' }),
    '/readyz': () => (sources.ready() ? { status: 200, body: 'ready\n' } : { status: 503, body: 'not ready\n' }),
    '/metrics': async () => ({ status: 200, ...(await sources.metrics()) }),
    '/config': () => ({
      status: 200,
      contentType: 'application/json',
      body: `${JSON.stringify(sources.config(), null, 2)}\n`,
    }),
  };

  const server = createServer((request, response) => {
    answer(request, pages)
      .catch((error: unknown) => ({ status: 500, body: `${error instanceof Error ? error.message : error}\n` }))
      .then((result) => send(request, response, result));
  });
  server.requestTimeout = 10_000;
  server.maxConnections = 64;

  const { host, port } = parseHostPort(listen);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port, exclusive: true }, resolve);
  });
  const bound = server.address() as AddressInfo; // a TCP listener that is up
  return {
    address: `${bound.family === 'IPv6' ? `[${bound.address}]` : bound.address}:${bound.port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** `HOST:PORT` or `[IPV6]:PORT`; throws on anything else. */
export function parseHostPort(listen: string): { host: string; port: number } {
  const match = /^(?:\[([^\]]+)\]|([^:]+)):(\d{1,5})$/.exec(listen);
  const host = match?.[1] ?? match?.[2];
  const port = Number(match?.[3]);
  if (host === undefined || port > 65_535) throw new Error(`"${listen}" is not HOST:PORT`);
  return { host, port };
}

async function answer(
  request: IncomingMessage,
  pages: Readonly<Record<string, () => Answer | Promise<Answer>>>,
): Promise<Answer> {
  const path = (request.url ?? '/').split('?', 1)[0] ?? '/';
  if (path === '/') return { status: 200, body: `${Object.keys(pages).join('\n')}\n` };
  const page = Object.hasOwn(pages, path) ? pages[path] : undefined;
  if (page === undefined) return { status: 404, body: 'not found\n' };
  if (request.method !== 'GET' && request.method !== 'HEAD') return { status: 405, body: 'only GET\n' };
  return page();
}

function send(request: IncomingMessage, response: ServerResponse, result: Answer): void {
  response.writeHead(result.status, {
    'content-type': result.contentType ?? 'text/plain; charset=utf-8',
    'content-length': Buffer.byteLength(result.body),
    'cache-control': 'no-store',
  });
  response.end(request.method === 'HEAD' ? undefined : result.body);
}
