import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import {
  type AdminRoutes,
  type AdminSources,
  findHostProblem,
  parseHostPort,
  startAdminServer,
} from '../../src/service/server/admin.ts';
import { readConfig, redactConfig } from '../../src/service/settings/config.ts';

let admin: Awaited<ReturnType<typeof startAdminServer>> | undefined;
afterEach(() => admin?.close());

async function start(sources: Partial<AdminSources> = {}, listen = '127.0.0.1:0', idleMs?: number): Promise<string> {
  admin = await startAdminServer(
    listen,
    {
      hosts: [],
      ready: () => true,
      metrics: async () => ({ contentType: 'text/plain; version=0.0.4', body: 'up 1\n' }),
      config: () => ({ version: '1.2.3' }),
      ...sources,
    },
    idleMs,
  );
  return `http://${admin.address}`;
}

describe('the admin port', () => {
  it('says that the process lives and whether it is ready', async () => {
    let ready = false;
    const url = await start({ ready: () => ready });
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
    expect((await fetch(`${url}/readyz`)).status).toBe(503);
    ready = true;
    expect((await fetch(`${url}/readyz?verbose`)).status).toBe(200);
  });

  it('serves metrics in their content type and the configuration as JSON', async () => {
    const url = await start();
    const metrics = await fetch(`${url}/metrics`);
    expect(metrics.headers.get('content-type')).toBe('text/plain; version=0.0.4');
    expect(await metrics.text()).toBe('up 1\n');
    expect(await (await fetch(`${url}/config`)).json()).toEqual({ version: '1.2.3' });
  });

  it('has a list of its pages, no other pages, and takes GET and HEAD alone', async () => {
    const url = await start();
    expect(await (await fetch(url)).text()).toBe('/healthz\n/readyz\n/metrics\n/config\n');
    for (const path of ['/nothing', '/constructor', '/healthz/..%2fmetrics'])
      expect((await fetch(url + path)).status, path).toBe(404);
    expect((await fetch(`${url}/healthz`, { method: 'POST' })).status).toBe(405);
    const head = await fetch(`${url}/metrics`, { method: 'HEAD' });
    expect([head.status, head.headers.get('content-length'), await head.text()]).toEqual([200, '5', '']);
  });

  it('says each of its answers whole, and that nobody may keep it', async () => {
    let ready = true;
    const handle: AdminRoutes['handle'] = ({ url = '' }, response) => {
      if (url !== '/more') return false;
      response.end('more\n');
      return true;
    };
    const url = await start({
      ready: () => ready,
      routes: { handle, paths: ['/more'] },
      config: () => ({ a: { b: 1 } }),
    });
    const answerOf = async (path: string, method = 'GET') => {
      const response = await fetch(url + path, { method });
      expect(response.headers.get('cache-control')).toBe(path === '/more' ? null : 'no-store');
      return [response.status, response.headers.get('content-type'), await response.text()];
    };
    const plain = 'text/plain; charset=utf-8';
    expect(await answerOf('/healthz')).toEqual([200, plain, 'ok\n']);
    expect(await answerOf('/readyz')).toEqual([200, plain, 'ready\n']);
    ready = false;
    expect(await answerOf('/readyz?a=/')).toEqual([503, plain, 'not ready\n']);
    expect(await answerOf('/config')).toEqual([200, 'application/json', '{\n  "a": {\n    "b": 1\n  }\n}\n']);
    expect(await answerOf('/')).toEqual([200, plain, '/healthz\n/readyz\n/metrics\n/config\n/more\n']);
    expect(await answerOf('/healthz', 'PUT')).toEqual([405, plain, 'only GET\n']);
    expect(await answerOf('/x', 'PUT')).toEqual([404, plain, 'not found\n']);
    expect(await answerOf('/more')).toEqual([200, null, 'more\n']);
  });

  it('answers 500 when a page fails, and goes on', async () => {
    const url = await start({ metrics: () => Promise.reject(new Error('no figures')) });
    const failed = await fetch(`${url}/metrics`);
    expect([failed.status, await failed.text()]).toEqual([500, 'no figures\n']);
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
  });

  it('rejects when the port is taken', async () => {
    const url = await start();
    await expect(startAdminServer(new URL(url).host, { hosts: [] } as unknown as AdminSources)).rejects.toThrow(
      'EADDRINUSE',
    );
  });

  it('listens on IPv6 too', async () => {
    const url = await start({}, '[::1]:0');
    expect(url).toMatch(/^http:\/\/\[::1\]:\d+$/);
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
  });
});

describe('who may ask the admin port', () => {
  const names = ['metrics.example', 'responses_extproc'];

  it.each([
    undefined,
    '127.0.0.1:9090',
    'localhost',
    'localhost:9090',
    'LOCALHOST:1',
    'app.localhost',
    '[::1]:9090',
    '10.0.0.7:9090',
    'Metrics.example:9090',
    'responses_extproc',
  ])('a client that calls it %s', (host) => {
    expect(findHostProblem(host, names)).toBeNull();
  });

  it.each([
    'evil.example',
    'evil.example:9090',
    '127.0.0.1.evil.example',
    'localhost.evil.example',
    'metrics.example.evil.example',
    '',
    'a@127.0.0.1',
    '127.0.0.1/x',
  ])('not one that was led here by the name %j (DNS rebinding)', (host) => {
    expect(findHostProblem(host, names)).toMatch(/Other names than localhost are refused/);
  });

  it('on any page, unless the name is known', async () => {
    const { port } = new URL(await start({ hosts: ['metrics.example'] }, 'localhost:0'));
    const statusOf = (path: string, head: readonly string[]) =>
      new Promise<string>((resolve, reject) => {
        const socket = connect(Number(port), 'localhost').on('error', reject);
        socket.setEncoding('utf8').once('data', (text) => resolve(String(text).split(' ')[1] ?? ''));
        socket.once('data', () => socket.destroy());
        socket.end([`GET ${path} HTTP/1.0`, ...head, '', ''].join('\r\n'));
      });
    for (const path of ['/', '/healthz', '/readyz', '/metrics', '/config', '/nothing']) {
      expect(await statusOf(path, ['host: evil.example']), path).toBe('403');
      for (const head of [[], ['host: metrics.example:9090'], ['host: 10.1.2.3:9090'], ['host: localhost']])
        expect(await statusOf(path, head), `${path} ${head}`).toBe(path === '/nothing' ? '404' : '200');
    }
  });
});

describe('an address', () => {
  it.each([
    ['127.0.0.1:9090', '127.0.0.1', 9090],
    ['localhost:0', 'localhost', 0],
    ['[::]:9090', '::', 9090],
  ])('%s is read', (text, host, port) => {
    expect(parseHostPort(text)).toEqual({ host, port });
  });

  it.each(['', '9090', ':9090', '::1:9090', 'host:65536', 'host:port', 'http://host:1'])('%j is none', (text) => {
    expect(() => parseHostPort(text)).toThrow('is not HOST:PORT');
  });
});

describe('the configuration that is shown', () => {
  it('leaves out who logs in where', () => {
    const config = readConfig({ OTEL_EXPORTER_OTLP_ENDPOINT: 'https://me:secret@collector.example:4318/path' });
    const shown = redactConfig(config);
    expect(shown['OTEL_EXPORTER_OTLP_ENDPOINT']).toBe('https://[redacted]@collector.example:4318/path');
    expect(shown['MAX_EXCHANGES']).toBe(20_000);
    expect(Object.keys(shown)).toEqual(Object.keys(config));
  });
});

describe('connections that send nothing', () => {
  const sockets: Socket[] = [];
  afterEach(() => {
    for (const socket of sockets.splice(0)) socket.destroy();
  });

  async function openSilent(url: string, count: number, bytes = ''): Promise<void> {
    const { hostname, port } = new URL(url);
    for (let opened = 0; opened < count; opened += 1) {
      const socket = connect(Number(port), hostname).on('error', () => {});
      sockets.push(socket);
      await once(socket, 'connect');
      socket.write(bytes);
    }
  }

  it.each([['nothing'], ['GET /readyz HTTP/1.1\r\nhost: x']])('do not keep a probe out: %j', async (bytes) => {
    const url = await start();
    await openSilent(url, 200, bytes === 'nothing' ? '' : bytes);
    for (let probe = 0; probe < 3; probe += 1) expect((await fetch(`${url}/readyz`)).status).toBe(200);
    await expect.poll(() => sockets.filter(({ closed }) => !closed).length).toBeLessThanOrEqual(64);
  });

  it('are closed for others in the order of their last request', async () => {
    const url = await start({}, '127.0.0.1:0', 600_000);
    await openSilent(url, 64);
    const [first, second] = sockets as [Socket, Socket];
    const firstClosed = Promise.race(sockets.map((socket) => once(socket, 'close').then(() => socket)));
    first.write('GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n');
    await once(first, 'data');
    await openSilent(url, 1);
    expect(await firstClosed).toBe(second);
  });

  it('are closed after a while', async () => {
    const url = await start({}, '127.0.0.1:0', 50);
    await openSilent(url, 3);
    await expect.poll(() => sockets.filter(({ closed }) => !closed).length).toBe(0);
  });
});
