import { addressOf, clusterOf, type EnvoyConfig, type Place } from '../../tools/mesh/envoy-config.ts';

/** Adds a copy of the cluster `from` under another name, with its one endpoint elsewhere. */
export function addClusterLike(config: EnvoyConfig, from: string, name: string, place: Place): void {
  const copy = structuredClone(clusterOf(config, from));
  copy.name = name;
  copy.load_assignment.endpoints[0].lb_endpoints[0].endpoint.address = addressOf(place);
  config.static_resources.clusters.push(copy);
}

/** The cluster `dead`: a Chat server at a port where nobody listens. */
export function addDeadCluster(config: EnvoyConfig): void {
  addClusterLike(config, 'chat', 'dead', { host: '127.0.0.1', port: 1 });
}
