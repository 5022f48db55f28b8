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

/** An Envoy and a service that have had one request of each outcome, and beside them two workers with TLS. */
export async function startMonitoredMesh(): Promise<MonitoredMesh> {
  const mesh = await startTestMesh({ webSocket: true });
  mesh.upstream.script('json', { body: [completion({ content: 'Hi' })] });
  mesh.upstream.script('sse', {
    headers: eventStream,
    body: [delta({ content: 'Hi' }), finish('stop'), usage(3, 2), done],
  });
  mesh.upstream.script('broken', { status: 500, body: ['{"error":{"message":"no"}}'] });
  await (await mesh.post({ model: 'json', input: 'Hi' })).text();
  await (await mesh.post({ model: 'sse', input: 'Hi', stream: true })).text();
  await (await mesh.post({ model: 'broken', input: 'Hi' })).text();
  await (await mesh.post({ model: 'json', input: 'Hi', store: true })).text();
  await mesh.service.logged((line) => line['outcome'] === 'upstream_error');
  await mesh.service.logged((line) => line['outcome'] === 'refused');

  const authority = createAuthority('monitoring');
  const { certFile, keyFile } = authority.issue('service');
  const workers = await startServiceProcess({ WORKERS: '2', TLS_CERT_FILE: certFile, TLS_KEY_FILE: keyFile });
  return {
    service: () => mesh.service.admin('/metrics'),
    workers: async () => (await workers.get('/metrics')).text(),
    envoy: () => mesh.admin('/stats/prometheus'),
    async close() {
      await Promise.all([workers.remove(), mesh.close()]);
      authority.remove();
    },
  };
}
