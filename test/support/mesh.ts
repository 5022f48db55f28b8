import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { OpenAI } from 'openai';
import { type EnvoyBinary, findEnvoy } from '../../mesh/envoy-binary.ts';
import {
  buildAddress,
  type EnvoyCluster,
  type EnvoyConfig,
  findCluster,
  findConnectionManager,
  placeEnvoy,
} from '../../mesh/envoy-config.ts';
import { findFreePort, waitUntilListening } from '../../mesh/ports.ts';
import { type Child, shippedEnvoyConfig, startEnvoy, startService, stopAtOnce } from '../../mesh/processes.ts';
import { type ServiceMain, serviceMain } from './service-main.ts';
import { readLogLine } from './service-process.ts';
import { type ScriptedUpstream, startScriptedUpstream } from './upstream.ts';

/** A line of Envoy's access log or of the service's log. */
export type LogLine = Readonly<Record<string, unknown>>;

/** A real Envoy on the shipped configuration, the real service, and an upstream that the test scripts. */
export interface TestMesh {
  /** `http://127.0.0.1:PORT` */
  readonly url: string;
  readonly upstream: ScriptedUpstream;
  /** The one that runs now. */
  readonly envoy: Child;
  /** Starts another Envoy on the same port, and kills the first once it is ready: no connection is refused between. */
  replaceEnvoy(): Promise<void>;
  readonly service: TestService;
  /** The official SDK, without retries. */
  readonly client: OpenAI;
  /** Sends JSON to `/v1/responses`. */
  post(body: unknown, options?: RequestInit & { path?: string }): Promise<Response>;
  /** Waits for the line of Envoy's access log that satisfies the test. */
  accessLog(wanted: (line: LogLine) => boolean): Promise<LogLine>;
  /** The body of a GET to Envoy's admin page. */
  admin(path: string): Promise<string>;
  close(): Promise<void>;
}

export interface TestService {
  readonly pid: number;
  readonly log: readonly LogLine[];
  /** Waits for the line that satisfies the test. */
  logged(wanted: (line: LogLine) => boolean): Promise<LogLine>;
  /** `http://127.0.0.1:PORT` of its admin port. */
  readonly adminUrl: string;
  /** The body of a GET to its admin port. */
  admin(path: string): Promise<string>;
  /** A figure of its metrics, summed over labels. */
  metric(name: string): Promise<number>;
  /** SIGTERM, as an orchestrator sends it; resolves with how the process exited. */
  terminate(): Promise<string>;
  /** SIGKILL; resolves when it is gone. */
  kill(): Promise<void>;
  /** Starts it again on the same port; resolves when it accepts connections. */
  start(): Promise<void>;
}

export interface TestMeshOptions {
  readonly envoy?: EnvoyBinary;
  readonly http2Upstream?: boolean;
  /** Variables of the service; `{proxy}` is Envoy's URL. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Another build of the service than that of this run. */
  readonly program?: ServiceMain;
  /** Envoy's configuration, if it is not the shipped one. */
  readonly configFile?: string;
  /** Changes the configuration, addresses already replaced. */
  readonly edit?: (config: EnvoyConfig) => void;
  readonly concurrency?: number;
  /** The service listens for WebSockets, and Envoy routes them there. */
  readonly webSocket?: boolean;
}

/** Starts all three on free ports; resolves when Envoy accepts requests and considers the service healthy. */
export async function startTestMesh(options: TestMeshOptions = {}): Promise<TestMesh> {
  const upstream = await startScriptedUpstream({ http2: options.http2Upstream ?? false });
  const [listen, admin, grpc, metrics, webSocket] = await Promise.all([
    findFreePort(),
    findFreePort(),
    findFreePort(),
    findFreePort(),
    findFreePort(),
  ]);
  const folder = mkdtempSync(join(tmpdir(), 'responses-extproc-test-'));
  const at = (port: number) => ({ host: '127.0.0.1', port });
  const config = placeEnvoy(readFileSync(options.configFile ?? shippedEnvoyConfig, 'utf8'), {
    listen: at(listen),
    admin: at(admin),
    service: at(grpc),
    upstream: at(upstream.port),
    webSocket: options.webSocket === true ? at(webSocket) : undefined,
  });
  makePatient(findCluster(config, 'responses_extproc'));
  // Shipped as 10 s, which a large request may take on a slow machine.
  for (const { typed_config } of findConnectionManager(config).http_filters as {
    typed_config: Record<string, unknown>;
  }[])
    if ('message_timeout' in typed_config) typed_config['message_timeout'] = '120s';
  if (options.http2Upstream) speakHttp2(config);
  options.edit?.(config);

  const service = await startTestService(
    grpc,
    metrics,
    withProxy(
      {
        ...(options.webSocket === true
          ? { WEBSOCKET_LISTEN: `127.0.0.1:${webSocket}`, WEBSOCKET_FORWARD_TO: '{proxy}/v1' }
          : {}),
        ...options.environment,
      },
      `http://127.0.0.1:${listen}`,
    ),
    options.program,
  );
  const lines: string[] = [];
  const fromAdmin = async (path: string) => {
    const { address, port_value: port } = config.admin.address.socket_address;
    return (await fetch(`http://${address}:${port}${path}`)).text();
  };
  async function start(): Promise<Child> {
    const started = startEnvoy(options.envoy ?? findEnvoy(process.env), config, {
      folder,
      concurrency: options.concurrency ?? 1,
      logLevel: 'error',
      onLine: (line) => lines.push(line),
    });
    await Promise.race([envoyIsReady(fromAdmin), endedUnasked(started, lines)]);
    return started;
  }
  let envoy = await start();
  const url = `http://127.0.0.1:${listen}`;

  return {
    url,
    upstream,
    get envoy() {
      return envoy;
    },
    async replaceEnvoy() {
      const first = envoy;
      config.admin.address = buildAddress(at(await findFreePort()));
      envoy = await start();
      first.kill('SIGKILL');
      await first.ended;
    },
    service,
    client: new OpenAI({ baseURL: `${url}/v1`, apiKey: 'sk-of-the-client', maxRetries: 0 }),
    post: (body, { path = '/v1/responses', headers, ...init } = {}) =>
      fetch(`${url}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...(headers as Record<string, string>) },
        body: JSON.stringify(body),
        ...init,
      }),
    accessLog: (wanted) =>
      untilFound(() => lines.filter((line) => line.startsWith('{')).map(parse), wanted, 'access log'),
    admin: fromAdmin,
    async close() {
      await Promise.all([envoy.stop(), service.kill(), upstream.close()]);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function withProxy(environment: Readonly<Record<string, string>>, url: string): Record<string, string> {
  return Object.fromEntries(Object.entries(environment).map(([name, value]) => [name, value.replace('{proxy}', url)]));
}

async function startTestService(
  port: number,
  metrics: number,
  environment: Readonly<Record<string, string>>,
  program = serviceMain,
): Promise<TestService> {
  const log: LogLine[] = [];
  let child: Child;
  async function start(): Promise<void> {
    const ports = { LISTEN: `127.0.0.1:${port}`, ADMIN_LISTEN: `127.0.0.1:${metrics}` };
    const raw: string[] = [];
    const onLine = (line: string) => {
      raw.push(line);
      readLogLine(line, child, log);
    };
    child = startService({ ...program.environment, ...stopAtOnce, ...environment, ...ports }, onLine, program.main);
    const over = new AbortController();
    const failed = endedUnasked(child, raw);
    await Promise.race([waitUntilListening(port, over.signal), failed]).finally(() => over.abort());
  }
  const adminUrl = `http://127.0.0.1:${metrics}`;
  const admin = async (path: string) => (await fetch(adminUrl + path)).text();
  await start();
  return {
    get pid() {
      return child.pid;
    },
    log,
    logged: (wanted) => untilFound(() => log, wanted, 'service log'),
    adminUrl,
    admin,
    async metric(name) {
      const values = (await admin('/metrics')).matchAll(new RegExp(`^${name}(?:\\{.*\\})? (\\S+)$`, 'gm'));
      return [...values].reduce((sum, [, value]) => sum + Number(value), 0);
    },
    terminate() {
      child.kill('SIGTERM');
      return child.ended;
    },
    async kill() {
      child.kill('SIGKILL');
      await child.ended;
    },
    start,
  };
}

/** Rejects when the process exits, and prints it if it was not stopped, so that a later failure does not hide the cause. */
function endedUnasked(child: Child, lines: readonly string[]): Promise<never> {
  const failed = child.ended.then((end) => {
    const problem = `${child.name} ended (${end})`;
    if (!child.stopped) console.error(`${problem}:\n${lines.slice(-20).join('\n')}`);
    throw new Error(`${problem}:\n${lines.join('\n')}`);
  });
  failed.catch(() => {});
  return failed;
}

/** Ready, and its health check has seen the service. */
async function envoyIsReady(admin: (path: string) => Promise<string>): Promise<void> {
  for (;;) {
    const clusters = await admin('/clusters').catch(() => '');
    const healthy = /^responses_extproc::[^:]+:\d+::health_flags::healthy$/m.test(clusters);
    if (healthy && (await admin('/ready')).startsWith('LIVE')) return;
    await sleep(30);
  }
}

/** Log lines arrive a moment after the answer. */
async function untilFound(
  lines: () => readonly LogLine[],
  wanted: (line: LogLine) => boolean,
  what: string,
): Promise<LogLine> {
  for (const end = Date.now() + 240_000; ; ) {
    const found = lines().find(wanted);
    if (found !== undefined) return found;
    if (Date.now() > end)
      throw new Error(
        `no such line in the ${what}:\n${lines()
          .map((line) => JSON.stringify(line))
          .join('\n')}`,
      );
    await sleep(20);
  }
}

/** Not what is shipped: a service that gets no processor for seconds is alive, and Envoy's threads know at once who is healthy. */
function makePatient(service: EnvoyCluster): void {
  Object.assign(service['common_lb_config'] as object, { update_merge_window: '0s' });
  const options = service['typed_extension_protocol_options'] as Record<string, { explicit_http_config: Http2Config }>;
  for (const { explicit_http_config: http } of Object.values(options))
    http.http2_protocol_options.connection_keepalive.timeout = '240s';
}
interface Http2Config {
  http2_protocol_options: { connection_keepalive: { timeout: string } };
}

function speakHttp2(config: EnvoyConfig): void {
  const cluster = config.static_resources.clusters.find(({ name }) => name === 'chat');
  const options = cluster?.['typed_extension_protocol_options'] as Record<string, { explicit_http_config: unknown }>;
  for (const option of Object.values(options)) option.explicit_http_config = { http2_protocol_options: {} };
}

function parse(line: string): LogLine {
  return JSON.parse(line) as LogLine;
}
