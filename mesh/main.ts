/**
 * `npm start`: a real Envoy, the service and a Chat server on this machine, until Ctrl-C. With the first argument `envoy`: Envoy
 * alone, with the options that follow.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setInterval } from 'node:timers';
import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf } from '../src/service/settings/error-texts.ts';
import { findEnvoy, runEnvoy } from './envoy-binary.ts';
import { chooseLineFormat, shortenLine } from './lines.ts';
import { type MeshOptions, parseMeshOptions, thisCommand, writeUsageText } from './options.ts';
import { findFreePort, findNextFreePort, isPortFree, leadsToFreePort } from './ports.ts';
import { type Child, startEnvoy, startService, startWatchdog } from './processes.ts';
import { demoModel, probeId, waitUntilAnswered, writeCurlCommand } from './readiness.ts';
import {
  buildEnvoyConfig,
  buildServiceEnvironment,
  chooseProfile,
  listPages,
  writeEnvoyConfig,
} from './start-settings.ts';
import { startEmbeddedUpstream } from './upstream.ts';
import { askUpstream } from './upstream-check.ts';
import { createTeller, watchMs, watchUpstream } from './upstream-news.ts';

const stopped = new AbortController();
const [first, ...others] = process.argv.slice(2);
try {
  process.exitCode = await (first === 'envoy' ? runEnvoy(others) : startMesh(process.argv.slice(2)));
} catch (error) {
  if (!stopped.signal.aborted) {
    console.error(messageOf(error));
    process.exitCode = 1;
  }
}

async function startMesh(args: readonly string[]): Promise<number> {
  let options: MeshOptions | null;
  try {
    options = parseMeshOptions(args, process.env);
  } catch (error) {
    console.error(messageOf(error));
    return 2;
  }
  if (options === null) console.log(writeUsageText(thisCommand).trimEnd());
  else if (options.printEnvoyConfig) process.stdout.write(writeEnvoyConfig(options, process.env));
  else {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stopped.abort());
    if (process.env['npm_lifecycle_event'] !== undefined) endWithParent();
    await run(options, stopped.signal);
  }
  return 0;
}

/** Runs the mesh until `stop` aborts. Throws when it cannot start, and when a part of it ends. */
async function run(options: MeshOptions, stop: AbortSignal): Promise<void> {
  const format = chooseLineFormat(process.env, process.stderr.isTTY);
  const port = options.port ?? (await findNextFreePort(10_000));
  if (options.port === undefined && port !== 10_000) console.error(`Port 10000 is taken: ${port} is used.`);
  if (!(await isPortFree(port))) throw new Error(`Port ${port} is taken; choose another with --port.`);
  if (options.upstream !== undefined && (await leadsToFreePort(options.upstream, port)))
    throw new Error(
      `Nothing listens at ${options.upstream.href}, and ${thisCommand.plain} would listen there itself. Start the Chat server first, or correct --upstream.`,
    );
  const envoy = findEnvoy(process.env);
  // The inspector's port follows that of clients, so that its address stays the same between runs.
  const page = await findNextFreePort(Math.min(port + 1, 65_400));
  const embedded = options.upstream === undefined ? await startEmbeddedUpstream() : undefined;
  const ports = {
    listen: port,
    admin: await findFreePort(),
    service: await findFreePort(),
    webSocket: await findFreePort(),
    page,
    upstream: embedded?.port ?? 0,
  };
  const environment = buildServiceEnvironment(options, process.env, ports);
  const folder = mkdtempSync(join(tmpdir(), 'responses-extproc-')); // only we can read it
  const config = buildEnvoyConfig(options, process.env, ports, folder);

  const show = (name: 'service' | 'envoy') => (line: string) => {
    // The mesh's own readiness probe is no request of a user.
    const text = line.includes(probeId) ? null : shortenLine(name, line, format);
    if (text !== null) console.error(text);
  };
  const children = [
    startService(environment, show('service')),
    startEnvoy(envoy, config, { folder, concurrency: 2, logLevel: 'error', onLine: show('envoy') }),
  ];
  const cancelWatchdog = startWatchdog(children);
  const over = new AbortController();
  try {
    const ended = waitForAnyEnd(children);
    const until = AbortSignal.any([stop, over.signal]);
    const refusal = await Promise.race([
      waitUntilAnswered({
        port,
        service: ports.service,
        upstream: options.upstream,
        signal: until,
        onWaiting: (last) => console.error(`Not ready yet: ${last}`),
      }),
      ended,
    ]);
    rmSync(folder, { recursive: true }); // Envoy has read it, and it may contain a key
    const url = `http://127.0.0.1:${port}/v1`;
    const { upstream } = options;
    const pages = listPages(environment, envoy.version, ports.admin);
    if (upstream === undefined) {
      console.log(refusal === null ? `\nready ${url}\n` : `\nWARNING ${url} is open, but ${refusal}\n`);
      console.log(`${writeCurlCommand(port, demoModel)}\n\n${pages}`);
    } else {
      const asking = { key: options.upstreamKey, timeoutMs: watchMs, signal: until };
      const watched = watchUpstream({
        ask: () => askUpstream(upstream, asking),
        now: () => performance.now(),
        sleep: (milliseconds) => sleep(milliseconds, undefined, { signal: until }),
      });
      const tell = createTeller({
        url,
        upstream,
        pages,
        profile: chooseProfile(options, process.env),
        curl: (model) => writeCurlCommand(port, model),
      });
      const told = (async () => {
        for await (const news of watched) if (!until.aborted) console.log(tell(news));
      })();
      await Promise.race([told, waitUntilAborted(stop), ended]);
    }
    await Promise.race([waitUntilAborted(stop), ended]);
  } finally {
    over.abort();
    await Promise.all([...children.map((child) => child.stop()), embedded?.close()]);
    cancelWatchdog();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function waitForAnyEnd(children: readonly Child[]): Promise<never> {
  const end = await Promise.race(children.map(async (child) => `${child.name} ended (${await child.ended})`));
  throw new Error(`${thisCommand.plain} stops: ${end}.`);
}

function waitUntilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

/** Stops the mesh when its parent process ends, because npm may be killed without a signal to this process. */
function endWithParent(): void {
  const parent = process.ppid;
  setInterval(() => process.ppid !== parent && stopped.abort(), 500).unref();
}
