import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, isIP, type Socket } from 'node:net';

export interface AdminSources {
  /** Names in lower case that a request may have as `Host`, besides addresses, `localhost` and the name that is listened on. */
  readonly hosts: readonly string[];
  ready(): boolean;
  metrics(): Promise<{ readonly contentType: string; readonly body: string }>;
  /** Returns the configuration in use, with secrets redacted. */
  config(): Readonly<Record<string, unknown>>;
  readonly routes?: AdminRoutes | null;
}

/** Routes that write their own response: streams, methods other than GET, special headers. */
export interface AdminRoutes {
  /** Answers the request. Returns false for a path that is not among `paths`. */
  handle(request: IncomingMessage, response: ServerResponse): boolean;
  readonly paths: readonly string[];
}

interface Page {
  readonly status: number;
  readonly contentType?: string;
  readonly body: string;
}

const maxConnections = 64;
const defaultIdleTimeoutMs = 10_000;

/** Serves probes, metrics, the configuration in use, and `sources.routes`. Rejects when it cannot listen at `listen` (`HOST:PORT`). */
export async function startAdminServer(listen: string, sources: AdminSources, idleMs = defaultIdleTimeoutMs) {
  const pages: Readonly<Record<string, () => Page | Promise<Page>>> = {
    '/healthz': () => ({ status: 200, body: 'ok\n' }),
    '/readyz': () => (sources.ready() ? { status: 200, body: 'ready\n' } : { status: 503, body: 'not ready\n' }),
    '/metrics': async () => ({ status: 200, ...(await sources.metrics()) }),
    '/config': () => {
      const body = `${JSON.stringify(sources.config(), null, 2)}\n`;
      return { status: 200, contentType: 'application/json', body };
    },
  };

  /** Returns the page to send; null if one of `sources.routes` has answered. */
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<Page | null> {
    const problem = findHostProblem(request.headers.host, names);
    if (problem !== null) return { status: 403, body: `${problem}\n` };
    if (sources.routes?.handle(request, response) === true) return null;
    const { method, url = '/' } = request;
    const path = url.replace(/\?.*$/s, '');
    if (path === '/') {
      const paths = [...Object.keys(pages), ...(sources.routes?.paths ?? [])];
      return { status: 200, body: `${paths.join('\n')}\n` };
    }
    const page = Object.hasOwn(pages, path) ? pages[path] : undefined;
    if (page === undefined) return { status: 404, body: 'not found\n' };
    return method === 'GET' || method === 'HEAD' ? page() : { status: 405, body: 'only GET\n' };
  }

  const { host, port } = parseHostPort(listen);
  const names = [...sources.hosts, host.toLowerCase()];
  const server = createServer((request, response) => {
    answer(request, response)
      .catch((error: unknown) => ({ status: 500, body: `${error instanceof Error ? error.message : error}\n` }))
      .then((page) => page !== null && send(request, response, page))
      // An unhandled failure of a write would end the process.
      .catch(() => response.destroy());
  });
  server.requestTimeout = defaultIdleTimeoutMs;
  server.timeout = idleMs;
  boundConnections(server);

  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port, exclusive: true }, resolve);
  });
  const bound = server.address() as AddressInfo; // a TCP listener that is up
  return {
    address: `${bound.family === 'IPv6' ? `[${bound.address}]` : bound.address}:${bound.port}`,
    close: () =>
      new Promise<void>((resolve) => {
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

/**
 * Returns why a request with this `Host` is refused, or null. A page of another site could otherwise read the port through a name of
 * its own that resolves to this machine (DNS rebinding). Browsers always send a host; probes of HTTP/1.0 may send none.
 */
export function findHostProblem(given: string | undefined, names: readonly string[]): string | null {
  if (given === undefined) return null;
  const match = /^(?:\[([\da-f:.]+)\]|([^\s:[\]/@]+))(?::\d{1,5})?$/i.exec(given);
  const host = (match?.[1] ?? match?.[2] ?? '').toLowerCase();
  if (host === 'localhost' || host.endsWith('.localhost') || isIP(host) !== 0 || names.includes(host)) return null;
  return 'Other names than localhost are refused, so that no other site can read this. Use an IP address, or set ADMIN_HOSTS.';
}

/** Beyond `maxConnections`, closes the connection whose last request, or start, was the longest ago, so that a probe always gets in. */
function boundConnections(server: Server): void {
  const oldestFirst = new Set<Socket>();
  const touch = (socket: Socket) => {
    oldestFirst.delete(socket);
    oldestFirst.add(socket);
  };
  server.on('connection', (socket: Socket) => {
    touch(socket);
    socket.once('close', () => oldestFirst.delete(socket));
    const [oldest] = oldestFirst;
    if (oldestFirst.size > maxConnections) oldest?.destroy();
  });
  server.on('request', ({ socket }) => touch(socket));
}

function send(request: IncomingMessage, response: ServerResponse, page: Page): void {
  response.writeHead(page.status, {
    'content-type': page.contentType ?? 'text/plain; charset=utf-8',
    'content-length': Buffer.byteLength(page.body),
    'cache-control': 'no-store',
  });
  response.end(request.method === 'HEAD' ? undefined : page.body);
}
