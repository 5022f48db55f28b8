import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createAuthority } from './certificates.ts';
import { startTestMesh } from './mesh.ts';
import { startServiceProcess } from './service-process.ts';
import { completion, delta, done, eventStream, finish, usage } from './upstream.ts';

/** Pages that a Prometheus would scrape. */
export interface MonitoredMesh {
  service(): Promise<string>;
  workers(): Promise<string>;
  envoy(): Promise<string>;
  close(): Promise<void>;
}

/**
 * An Envoy and a service that have had one request of each outcome, and beside them two workers with TLS, whose profiles file
 * was broken while they ran.
 */
export async function startMonitoredMesh(): Promise<MonitoredMesh> {
  const mesh = await startTestMesh({ webSocket: true });
  mesh.upstream.script('json', { body: [completion({ content: 'Hi' })] });
  mesh.upstream.script('sse', {
    headers: eventStream,
    body: [delta({ content: 'Hi' }), finish('stop'), usage(3, 2), done],
  });
  mesh.upstream.script('uncounted', { headers: eventStream, body: [delta({ content: 'Hi' }), finish('stop'), done] });
  mesh.upstream.script('broken', { status: 500, body: ['{"error":{"message":"no"}}'] });
  await (await mesh.post({ model: 'json', input: 'Hi' })).text();
  await (await mesh.post({ model: 'sse', input: 'Hi', stream: true })).text();
  await (await mesh.post({ model: 'uncounted', input: 'Hi', stream: true })).text();
  await (await mesh.post({ model: 'broken', input: 'Hi' })).text();
  await (await mesh.post({ model: 'json', input: 'Hi', store: true })).text();
  await mesh.service.logged((line) => line['outcome'] === 'upstream_error');
  await mesh.service.logged((line) => line['outcome'] === 'refused');

  const authority = createAuthority('monitoring');
  const { certFile, keyFile } = authority.issue('service');
  const folder = mkdtempSync(join(tmpdir(), 'extproc-monitored-'));
  const profiles = join(folder, 'profiles.yaml');
  writeFileSync(profiles, 'profiles: {mine: {extends: vllm}}');
  const workers = await startServiceProcess({
    WORKERS: '2',
    TLS_CERT_FILE: certFile,
    TLS_KEY_FILE: keyFile,
    UPSTREAM_PROFILES_FILE: profiles,
  });
  writeFileSync(profiles, 'profiles: {mine: {extends: nobody}}');
  for (const worker of [1, 2])
    await workers.logged(
      ({ msg, worker: number }) => msg === 'the changed profiles file cannot be used' && number === worker,
    );
  return {
    service: () => mesh.service.admin('/metrics'),
    workers: async () => (await workers.get('/metrics')).text(),
    envoy: () => mesh.admin('/stats/prometheus'),
    async close() {
      await Promise.all([workers.remove(), mesh.close()]);
      authority.remove();
      rmSync(folder, { recursive: true });
    },
  };
}
