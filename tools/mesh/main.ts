/** `npm start`: a real Envoy, the service and a Chat server on this machine, until Ctrl-C. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setInterval } from 'node:timers';
import { setTimeout as sleep } from 'node:timers/promises';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { type Child, startWatchdog } from './child-process.ts';
import { findEnvoy } from './envoy-binary.ts';
import { type EnvoyConfig, type EnvoyPlaces, placeEnvoy, useServiceTls, useUpstream } from './envoy-config.ts';
import { type LineFormat, lineFormat, shortEnvoyLine, shortServiceLine } from './lines.ts';
import { type MeshOptions, readOptions, usageOf } from './options.ts';
import { shippedEnvoyConfig, startEnvoy, startService, stopAtOnce } from './parts.ts';
import { anyFreePort, leadsToFreePort, nextFreePort, portIsFree } from './ports.ts';
import { curlFor, demoModel, probeId, untilAnswered } from './readiness.ts';
import { createTeller } from './tell-upstream.ts';
import { startEmbeddedUpstream } from './upstream.ts';
import { askUpstream } from './upstream-check.ts';
import { watchMs, watchUpstream } from './watch-upstream.ts';

const stopped = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stopped.abort());
if (process.env['npm_lifecycle_event'] !== undefined) endWithParent();

try {
  const options = readOptions(process.argv.slice(2), process.env);
  if (options === null) console.log(usageOf(process.argv[1] ?? ''));
  else await run(options, stopped.signal);
} catch (error) {
  if (!stopped.signal.aborted) {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  }
}

/** Runs the mesh until `stop` aborts. Throws when it cannot start, and when a part of it ends. */
async function run(options: MeshOptions, stop: AbortSignal): Promise<void> {
  const format = lineFormat(process.env, process.stderr.isTTY);
  const port = options.port ?? (await nextFreePort(10000));
  if (!(await portIsFree(port))) throw new Error(`Port ${port} is taken; choose another with --port.`);
  if (options.upstream !== undefined && (await leadsToFreePort(options.upstream, port)))
    throw new Error(
      `Nothing listens at ${options.upstream.href}, and npm start would listen there itself. Start the Chat server first, or correct --upstream.`,
    );
  const envoy = findEnvoy(process.env);
  const [admin, service, webSocket] = [await anyFreePort(), await anyFreePort(), await anyFreePort()];
  // The inspector's address stays the same between runs: right after the port of clients, if that is free.
  const ownPage = `127.0.0.1:${await nextFreePort(Math.min(port + 1, 65_400))}`;
  const environment = serviceEnvironment(options, { listen: port, service, webSocket }, ownPage);
  const embedded = options.upstream === undefined ? await startEmbeddedUpstream() : undefined;
  const folder = mkdtempSync(join(tmpdir(), 'responses-extproc-')); // only we can read it
  const places = {
    listen: at(port),
    admin: at(admin),
    service: at(service),
    upstream: at(embedded?.port ?? 0),
    webSocket: at(webSocket),
  };
  const config = envoyConfigFor(options, places, folder);

  const children = [
    startService(environment, (line) => show(line, shownAs(format, 'service', shortServiceLine))),
    startEnvoy(envoy, config, {
      folder,
      concurrency: 2,
      logLevel: 'error',
      onLine: (line) => show(line, shownAs(format, 'envoy  ', shortEnvoyLine)),
    }),
  ];
  const cancelWatchdog = startWatchdog(children);
  const over = new AbortController();
  try {
    const ended = anyEnd(children);
    const until = AbortSignal.any([stop, over.signal]);
    const refusal = await Promise.race([
      untilAnswered({
        ...{ port, service, upstream: options.upstream, signal: until },
        onWaiting: (last) => console.error(`Not ready yet: ${last}`),
      }),
      ended,
    ]);
    rmSync(folder, { recursive: true }); // Envoy has read it, and it may contain a key
    const url = `http://127.0.0.1:${port}/v1`;
    const { upstream } = options;
    const pages = `${pagesOf(environment, envoy.version, admin).join('\n')}\n`;
    if (upstream === undefined) {
      console.log(refusal === null ? `\nready ${url}\n` : `\nWARNING ${url} is open, but ${refusal}\n`);
      console.log(`${curlFor(port, demoModel)}\n\n${pages}`);
    } else {
      const watched = watch({ ...options, upstream }, until);
      const tell = createTeller({ url, upstream, curl: (model) => curlFor(port, model), pages });
      const told = (async () => {
        for await (const news of watched) if (!until.aborted) console.log(tell(news));
      })();
      await Promise.race([told, untilAborted(stop), ended]);
    }
    await Promise.race([untilAborted(stop), ended]);
  } finally {
    over.abort();
    await Promise.all([...children.map((child) => child.stop()), embedded?.close()]);
    cancelWatchdog();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A line of a child's output, unless it is about our own probe or of no interest. */
function show(line: string, shown: (line: string) => string | null): void {
  const text = line.includes(probeId) ? null : shown(line);
  if (text !== null) console.error(text);
}

function shownAs(format: LineFormat, name: string, short: (line: string) => string | null) {
  return format === 'short' ? short : (line: string) => `${name} | ${line}`;
}

/** Watches a real server until the signal aborts. */
function watch({ upstream, upstreamKey: key, profile }: MeshOptions & { upstream: URL }, signal: AbortSignal) {
  const isGeneric = (profile ?? (process.env['UPSTREAM_PROFILE'] || 'generic')) === 'generic';
  return watchUpstream({
    ask: () => askUpstream(upstream, { key, timeoutMs: watchMs, signal, recognise: isGeneric }),
    now: () => performance.now(),
    sleep: (milliseconds) => sleep(milliseconds, undefined, { signal }),
  });
}

/** Returns the other pages that can be opened in a browser. */
function pagesOf(environment: Readonly<Record<string, string>>, version: string, admin: number): string[] {
  const { ADMIN_LISTEN: listen = 'off', INSPECT } = environment;
  // A wildcard address cannot be opened in a browser.
  const place = listen.replace(/^(?:0\.0\.0\.0|\[::\]):/, '127.0.0.1:');
  const metrics = listen === 'off' ? 'metrics: off (ADMIN_LISTEN)' : `metrics: http://${place}/metrics`;
  return [
    `Envoy ${version}, its admin page: http://127.0.0.1:${admin}   ${metrics}`,
    ...(INSPECT === 'on' ? [`See each request and what it becomes: http://${place}/inspect`] : []),
  ];
}

function envoyConfigFor(options: MeshOptions, places: EnvoyPlaces, folder: string): EnvoyConfig {
  const config = placeEnvoy(readFileSync(shippedEnvoyConfig, 'utf8'), places);
  // Otherwise two Envoys could share a port unnoticed, each with half of the connections.
  config.static_resources.listeners[0].enable_reuse_port = false;
  const { TLS_CERT_FILE: certFile, TLS_KEY_FILE: keyFile } = process.env;
  if (certFile && keyFile) useServiceTls(config, { certFile, keyFile });
  if (options.upstream !== undefined) {
    // The authorities that Node (including NODE_EXTRA_CA_CERTS) and the system trust: Envoy itself trusts none.
    const trusted = [...new Set([...getCACertificates('default'), ...getCACertificates('system')])];
    setDefaultCACertificates(trusted); // for our own requests
    const authorities = join(folder, 'authorities.pem');
    writeFileSync(authorities, trusted.join('\n'));
    useUpstream(config, { url: options.upstream, key: options.upstreamKey, profile: options.profile, authorities });
  }
  return config;
}

/** The user's own variables apply, except for the address that Envoy must know. */
function serviceEnvironment(
  options: MeshOptions,
  ports: Readonly<Record<'listen' | 'service' | 'webSocket', number>>,
  ownPage: string,
): Record<string, string> {
  const { ADMIN_LISTEN = ownPage, WORKERS = '1' } = process.env;
  // It is a page of the admin port, and of one process.
  const { INSPECT = ADMIN_LISTEN === 'off' || WORKERS !== '1' ? 'off' : 'on' } = process.env;
  const { INSPECT_SEND_TO = `http://127.0.0.1:${ports.listen}/v1` } = process.env;
  return {
    WEBSOCKET_LISTEN: `127.0.0.1:${ports.webSocket}`,
    WEBSOCKET_FORWARD_TO: `http://127.0.0.1:${ports.listen}/v1`,
    ADMIN_LISTEN,
    INSPECT,
    INSPECT_SEND_TO,
    ...stopAtOnce,
    LISTEN: `127.0.0.1:${ports.service}`,
    ...(options.profile === undefined ? {} : { UPSTREAM_PROFILE: options.profile }),
  };
}

/** Rejects when the first of them ends. */
async function anyEnd(children: readonly Child[]): Promise<never> {
  const end = await Promise.race(children.map(async (child) => `${child.name} ended (${await child.ended})`));
  throw new Error(`npm start stops: ${end}.`);
}

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

/** npm may be killed without any signal reaching this process (SIGKILL, or a shell that does not forward SIGTERM). */
function endWithParent(): void {
  const parent = process.ppid;
  setInterval(() => process.ppid !== parent && stopped.abort(), 500).unref();
}

function at(port: number): { host: string; port: number } {
  return { host: '127.0.0.1', port };
}
