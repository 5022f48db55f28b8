import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, isIP, type Socket } from 'node:net';

export interface AdminSources {
  /** Names that requests may give as `Host`, in lower case, besides addresses, `localhost` and the name that is listened on. */
  readonly hosts: readonly string[];
  /** True while new exchanges are accepted. */
  ready(): boolean;
  /** The Prometheus exposition, and its content type. */
  metrics(): Promise<{ readonly contentType: string; readonly body: string }>;
  /** The configuration in use, with secrets redacted. */
  config(): Readonly<Record<string, unknown>>;
  /** Further pages, where there are any. */
  readonly routes?: AdminRoutes | null;
}

/** Routes that write their own response: streams, methods other than GET, special headers. */
export interface AdminRoutes {
  /** Answers the request, or returns false for a path that is not one of these. */
  handle(request: IncomingMessage, response: ServerResponse): boolean;
  /** For the list of pages. */
  readonly paths: readonly string[];
}

interface Page {
  readonly status: number;
  readonly contentType?: string;
  readonly body: string;
}

/** Maximum concurrent connections; beyond it the longest idle one is closed, so that a probe always gets in. */
const maxConnections = 64;
/** How long a connection may be idle before it is closed. */
const defaultIdleTimeoutMs = 10_000;

/**
 * Serves probes, metrics and the configuration in use, read-only, and the given routes. `listen` is `HOST:PORT` (an IPv6 host in brackets).
 * Rejects when it cannot listen there.
 */
export async function startAdminServer(listen: string, sources: AdminSources, idleMs = defaultIdleTimeoutMs) {
  const pages: Readonly<Record<string, () => Page | Promise<Page>>> = {
    '/healthz': () => ({ status: 200, body: 'ok\n' }),
    '/readyz': () => (sources.ready() ? { status: 200, body: 'ready\n' } : { status: 503, body: 'not ready\n' }),
    '/metrics': async () => ({ status: 200, ...(await sources.metrics()) }),
    '/config': () => ({
      status: 200,
      contentType: 'application/json',
      body: `${JSON.stringify(sources.config(), null, 2)}\n`,
    }),
  };

  async function renderPage({ method, url = '/' }: IncomingMessage): Promise<Page> {
    const path = url.replace(/\?.*$/s, '');
    if (path === '/') {
      const paths = [...Object.keys(pages), ...(sources.routes?.paths ?? [])];
      return { status: 200, body: `${paths.join('\n')}\n` };
    }
    const page = Object.hasOwn(pages, path) ? pages[path] : undefined;
    if (page === undefined) return { status: 404, body: 'not found\n' };
    return method === 'GET' || method === 'HEAD' ? page() : { status: 405, body: 'only GET\n' };
  }

  /** Null where one of the given routes has answered. */
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<Page | null> {
    const problem = hostProblem(request.headers.host, names);
    if (problem !== null) return { status: 403, body: `${problem}\n` };
    return sources.routes?.handle(request, response) === true ? null : renderPage(request);
  }

  const { host, port } = parseHostPort(listen);
  const names = [...sources.hosts, host.toLowerCase()];
  const server = createServer((request, response) => {
    answer(request, response)
      .catch((error: unknown) => ({ status: 500, body: `${error instanceof Error ? error.message : error}\n` }))
      .then((page) => page !== null && send(request, response, page))
      // A failed write ends this connection; unhandled, it would end the process.
      .catch(() => response.destroy());
  });
  server.requestTimeout = defaultIdleTimeoutMs;
  server.timeout = idleMs;
  boundConnections(server, maxConnections);

  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port, exclusive: true }, resolve);
  });
  const bound = server.address() as AddressInfo; // a TCP listener that is up
  return {
    /** `HOST:PORT`, with the port the system assigned when 0 was configured. */
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
 * Why a request may not be answered, or null. A page of another site could otherwise read the port through a name of its own
 * that resolves to this machine (DNS rebinding). Browsers always send a host; probes of HTTP/1.0 need not.
 */
export function hostProblem(given: string | undefined, names: readonly string[]): string | null {
  if (given === undefined) return null;
  const match = /^(?:\[([\da-f:.]+)\]|([^\s:[\]/@]+))(?::\d{1,5})?$/i.exec(given);
  const host = (match?.[1] ?? match?.[2] ?? '').toLowerCase();
  if (host === 'localhost' || host.endsWith('.localhost') || isIP(host) !== 0 || names.includes(host)) return null;
  return 'Other names than localhost are refused, so that no other site can read this. Use an IP address, or set ADMIN_HOSTS.';
}

/** Beyond this many connections, closes the one whose last request (or start) was the longest ago. */
function boundConnections(server: Server, most: number): void {
  const oldestFirst = new Set<Socket>();
  const touch = (socket: Socket) => {
    oldestFirst.delete(socket);
    oldestFirst.add(socket);
  };
  server.on('connection', (socket: Socket) => {
    touch(socket);
    socket.once('close', () => oldestFirst.delete(socket));
    const [oldest] = oldestFirst;
    if (oldestFirst.size > most) oldest?.destroy();
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
