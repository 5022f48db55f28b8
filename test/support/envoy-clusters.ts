import { setTimeout as sleep } from 'node:timers/promises';
import { buildAddress, type EnvoyConfig, findCluster, type HostAndPort } from '../../mesh/envoy-config.ts';

/** Adds a copy of the cluster `from` under another name, with its only endpoint at another address. */
export function addClusterLike(config: EnvoyConfig, from: string, name: string, place: HostAndPort): void {
  const copy = structuredClone(findCluster(config, from));
  copy.name = name;
  copy.load_assignment.endpoints[0].lb_endpoints[0].endpoint.address = buildAddress(place);
  config.static_resources.clusters.push(copy);
}

/** The cluster `dead`: a Chat server at a port where nothing listens. */
export function addDeadCluster(config: EnvoyConfig): void {
  addClusterLike(config, 'chat', 'dead', { host: '127.0.0.1', port: 1 });
}

/** Adds one more endpoint to a cluster. */
export function addEndpoint(config: EnvoyConfig, cluster: string, place: HostAndPort): void {
  findCluster(config, cluster).load_assignment.endpoints[0].lb_endpoints.push({
    endpoint: { address: buildAddress(place) },
  });
}

/** Resolves when Envoy's health checks have found exactly this many replicas of the service healthy, which its threads are told at once in a test's mesh. */
export async function untilHealthy(admin: (path: string) => Promise<string>, endpoints: number): Promise<void> {
  for (const end = Date.now() + 240_000; Date.now() < end; await sleep(100)) {
    const healthy = (await admin('/clusters')).match(/^responses_extproc::.*::health_flags::healthy$/gm);
    if (healthy?.length === endpoints) return;
  }
  throw new Error(`not ${endpoints} healthy endpoints:\n${await admin('/clusters')}`);
}
