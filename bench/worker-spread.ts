/**
 * `node bench/worker-spread.ts`: how Envoy's calls spread over workers, by its threads and by how it reaches them. The
 * table is in docs/operating.md, "More than one core".
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { startTestMesh, type TestMesh } from '../test/support/mesh.ts';
import { startServiceProcess } from '../test/support/service-process.ts';
import { completion, delta, done, eventStream, finish } from '../test/support/upstream.ts';
import { clusterOf, type EnvoyConfig } from '../tools/mesh/envoy-config.ts';
import { anyFreePort } from '../tools/mesh/ports.ts';

interface Case {
  readonly how: 'shared port' | 'an address each';
  readonly threads: number;
  readonly workers: number;
  readonly streams: number;
  /** Streams for which Envoy opens one connection; its default otherwise. */
  readonly perConnection?: number;
}

const cases: readonly Case[] = [
  { how: 'shared port', threads: 1, workers: 2, streams: 60 },
  { how: 'shared port', threads: 2, workers: 4, streams: 60 },
  { how: 'shared port', threads: 4, workers: 2, streams: 60 },
  { how: 'shared port', threads: 2, workers: 4, streams: 200, perConnection: 10 },
  { how: 'an address each', threads: 1, workers: 4, streams: 60 },
  { how: 'an address each', threads: 2, workers: 4, streams: 200 },
];

console.log('| how | threads | workers | streams | connections | calls per worker |\n|---|---|---|---|---|---|');
for (const one of cases) {
  const { connections, shares } = await measure(one);
  const how = one.perConnection === undefined ? one.how : `${one.how}, max_concurrent_streams: ${one.perConnection}`;
  console.log(`| ${how} | ${one.threads} | ${one.workers} | ${one.streams} | ${connections} | ${shares.join(' / ')} |`);
}
process.exit(0);

async function measure({ how, threads, workers, streams, perConnection }: Case) {
  const base = await anyFreePort();
  const listen = how === 'shared port' ? `127.0.0.1:${base}` : '127.0.0.{worker}:'.concat(String(base));
  const service = await startServiceProcess({ WORKERS: String(workers), LISTEN: listen });
  const addresses = [...new Set(service.listen)];
  const over = { yet: false };
  const mesh = await startTestMesh({
    concurrency: threads,
    edit: (config) => pointAt(config, addresses, perConnection),
  });
  try {
    await untilHealthy(mesh, addresses.length);
    mesh.upstream.script('warm', { body: [completion({ content: 'Hi' })] });
    // Calls that wait for a first connection are not counted yet where Envoy looks for the least busy.
    for (let round = 0; round < 5; round += 1) {
      const warm = Array.from({ length: 4 * threads }, () => mesh.post({ model: 'warm', input: 'Hi' }));
      for (const response of await Promise.all(warm)) await response.text();
    }
    const script = Array.from({ length: streams }, () => ({ headers: eventStream, body: endless(over) }));
    mesh.upstream.script('stream', ...script);
    const running = await Promise.all(script.map(() => mesh.post({ model: 'stream', input: 'Hi', stream: true })));
    await sleep(500);
    const shares: number[] = [];
    for (let number = 1; number <= workers; number += 1)
      shares.push(await service.metric('responses_extproc_active_exchanges', { worker: String(number) }));
    const stats = await mesh.admin('/stats');
    const connections = /^cluster\.responses_extproc\.upstream_cx_active: (\d+)$/m.exec(stats)?.[1];
    over.yet = true;
    for (const response of running) await response.text();
    return { connections, shares };
  } finally {
    over.yet = true;
    await mesh.close();
    await service.remove();
  }
}

function pointAt(config: EnvoyConfig, addresses: readonly string[], perConnection: number | undefined): void {
  const cluster = clusterOf(config, 'responses_extproc');
  const endpoints: unknown[] = cluster.load_assignment.endpoints[0].lb_endpoints;
  endpoints.length = 0;
  for (const [address, port] of addresses.map((text) => text.split(':')))
    endpoints.push({ endpoint: { address: { socket_address: { address, port_value: Number(port) } } } });
  if (perConnection === undefined) return;
  const options = Object.values(cluster['typed_extension_protocol_options'] as object)[0] as {
    explicit_http_config: { http2_protocol_options: Record<string, unknown> };
  };
  options.explicit_http_config.http2_protocol_options['max_concurrent_streams'] = perConnection;
}

async function untilHealthy(mesh: TestMesh, endpoints: number): Promise<void> {
  for (;;) {
    const healthy = (await mesh.admin('/clusters')).match(/^responses_extproc::.*::health_flags::healthy$/gm);
    // Envoy's threads hear of health a second later, several changes in one (update_merge_window).
    if (healthy?.length === endpoints) return sleep(1_500);
    await sleep(100);
  }
}

function* endless(over: { yet: boolean }) {
  while (!over.yet) {
    yield delta({ content: 'more ' });
    yield 200;
  }
  yield finish('stop');
  yield done;
}
