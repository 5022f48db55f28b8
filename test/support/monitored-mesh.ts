import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findFreePort } from '../../mesh/ports.ts';
import { createAuthority } from './certificates.ts';
import { type LogLine, startTestMesh } from './mesh.ts';
import { startServiceProcess } from './service-process.ts';
import { completion, delta, done, eventStream, finish, type ScriptedUpstream, usage } from './upstream.ts';
import { openWebSocket } from './websocket-client.ts';

/** Pages that a Prometheus would scrape. */
export interface MonitoredMesh {
  service(): Promise<string>;
  workers(): Promise<string>;
  envoy(): Promise<string>;
  close(): Promise<void>;
}

/**
 * An Envoy and a service that have had one request of each outcome, and two workers with TLS, whose profiles file
 * was broken while they ran.
 */
export async function startMonitoredMesh(): Promise<MonitoredMesh> {
  const mesh = await startTestMesh({ webSocket: true });
  await sendOneOfEach(mesh.upstream, mesh.post, mesh.service.logged);
  const workers = await startMonitoredWorkers();
  return {
    service: () => mesh.service.admin('/metrics'),
    workers: workers.metrics,
    envoy: () => mesh.admin('/stats/prometheus'),
    async close() {
      await Promise.all([workers.close(), mesh.close()]);
    },
  };
}

/** One request of each outcome; resolves when the service has logged them. */
export async function sendOneOfEach(
  upstream: ScriptedUpstream,
  post: (body: object) => Promise<Response>,
  logged: (wanted: (line: LogLine) => boolean) => Promise<LogLine>,
): Promise<void> {
  upstream.script('json', { body: [completion({ content: 'Hi' })] });
  upstream.script('sse', { headers: eventStream, body: [delta({ content: 'Hi' }), finish('stop'), usage(3, 2), done] });
  upstream.script('uncounted', { headers: eventStream, body: [delta({ content: 'Hi' }), finish('stop'), done] });
  upstream.script('broken', { status: 500, body: ['{"error":{"message":"no"}}'] });
  await (await post({ model: 'json', input: 'Hi' })).text();
  await (await post({ model: 'sse', input: 'Hi', stream: true })).text();
  await (await post({ model: 'uncounted', input: 'Hi', stream: true })).text();
  await (await post({ model: 'broken', input: 'Hi' })).text();
  await (await post({ model: 'json', input: 'Hi', store: true })).text();
  await logged((line) => line['outcome'] === 'upstream_error');
  await logged((line) => line['outcome'] === 'refused');
}

/** Two workers with TLS, whose profiles file was broken while they ran, and one of which has had a WebSocket with a refused message. */
export async function startMonitoredWorkers(): Promise<{ metrics(): Promise<string>; close(): Promise<void> }> {
  const authority = createAuthority('monitoring');
  const { certFile, keyFile } = authority.issue('service');
  const folder = mkdtempSync(join(tmpdir(), 'extproc-monitored-'));
  const profiles = join(folder, 'profiles.yaml');
  writeFileSync(profiles, 'profiles: {mine: {extends: vllm}}');
  const port = await findFreePort();
  const workers = await startServiceProcess({
    WORKERS: '2',
    WEBSOCKET_LISTEN: `127.0.0.1:${port}`,
    WEBSOCKET_FORWARD_TO: 'http://127.0.0.1:1/v1',
    TLS_CERT_FILE: certFile,
    TLS_KEY_FILE: keyFile,
    UPSTREAM_PROFILES_FILE: profiles,
  });
  const client = await openWebSocket(`http://127.0.0.1:${port}/v1/responses`);
  client.send('not a turn');
  await client.message(({ type }) => type === 'error');
  await client.close();
  writeFileSync(profiles, 'profiles: {mine: {extends: nobody}}');
  for (const worker of [1, 2])
    await workers.logged(
      ({ msg, worker: number }) => msg === 'the changed profiles file cannot be used' && number === worker,
    );
  return {
    metrics: async () => (await workers.get('/metrics')).text(),
    async close() {
      await workers.remove();
      authority.remove();
      rmSync(folder, { recursive: true });
    },
  };
}
