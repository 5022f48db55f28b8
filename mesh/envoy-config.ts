import { isIP } from 'node:net';
import { parse } from 'yaml';

/** The parts of `envoy/envoy.yaml` that the mesh changes; the rest is kept as it is. */
export interface EnvoyConfig {
  admin: { address: EnvoyAddress };
  static_resources: {
    listeners: [EnvoyListener];
    clusters: EnvoyCluster[];
  };
  [other: string]: unknown;
}
interface EnvoyListener {
  address: EnvoyAddress;
  enable_reuse_port?: boolean;
  filter_chains: [{ filters: [{ typed_config: ConnectionManager }] }];
}
export interface EnvoyAddress {
  socket_address: { address: string; port_value: number };
}
export interface EnvoyCluster {
  name: string;
  load_assignment: { cluster_name: string; endpoints: [{ lb_endpoints: [EnvoyEndpoint, ...EnvoyEndpoint[]] }] };
  transport_socket?: unknown;
  [other: string]: unknown;
}
interface EnvoyEndpoint {
  endpoint: { address: EnvoyAddress };
}
export interface EnvoyRoute {
  name: string;
  match: {
    path_separated_prefix?: string;
    runtime_fraction?: { default_value: { numerator: number } };
    [other: string]: unknown;
  };
  route: Record<string, unknown>;
  typed_per_filter_config?: {
    'envoy.filters.http.ext_proc': {
      '@type': string;
      overrides?: { grpc_initial_metadata?: { key: string; value: string }[]; [other: string]: unknown };
    };
  };
  [other: string]: unknown;
}
interface ConnectionManager {
  http_filters: [{ typed_config: { processing_mode: Record<string, string>; [other: string]: unknown } }, unknown];
  route_config: {
    virtual_hosts: [
      { routes: [EnvoyRoute, ...EnvoyRoute[]]; request_headers_to_add: object[]; [other: string]: unknown },
    ];
  };
  [other: string]: unknown;
}

export interface EnvoyPlaces {
  readonly listen: HostAndPort;
  readonly admin: HostAndPort;
  readonly service: HostAndPort;
  readonly upstream: HostAndPort;
  readonly webSocket?: HostAndPort | undefined;
}
export interface HostAndPort {
  readonly host: string;
  readonly port: number;
}

/** The shipped configuration with other addresses. Throws when the file does not have the expected shape. */
export function placeEnvoy(shipped: string, places: EnvoyPlaces): EnvoyConfig {
  const config = parse(shipped) as EnvoyConfig; // our own file; a wrong shape throws below, or Envoy refuses it
  config.admin.address = buildAddress(places.admin);
  config.static_resources.listeners[0].address = buildAddress(places.listen);
  findEndpointAddress(config, 'responses_extproc').address = buildAddress(places.service);
  findEndpointAddress(config, 'chat').address = buildAddress(places.upstream);
  if (places.webSocket !== undefined) {
    findEndpointAddress(config, 'responses_extproc_websocket').address = buildAddress(places.webSocket);
    findWebSocketSwitch(config).numerator = 100;
  }
  return config;
}

/** A real Chat Completions server that replaces `127.0.0.1:8080`. */
export interface UpstreamServer {
  /** Base URL as OpenAI clients take it: `https://host:port/prefix/v1`. */
  readonly url: URL;
  /** The bearer token for the upstream. Without it the client's `authorization` is passed on. */
  readonly key: string | undefined;
  readonly profile: string | undefined;
  /** PEM file with the authorities that an https server's certificate is checked against. */
  readonly authorities: string;
}

/** Points the configuration at a real Chat server: address, TLS, host header, path prefix, key, profile. Changes `config`. */
export function useUpstream(config: EnvoyConfig, { url, key, profile, authorities }: UpstreamServer): void {
  const secure = url.protocol === 'https:';
  const host = url.hostname.replace(/^\[|\]$/g, '');
  findEndpointAddress(config, 'chat').address = buildAddress({ host, port: Number(url.port) || (secure ? 443 : 80) });
  const validation_context = {
    trusted_ca: { filename: authorities },
    match_typed_subject_alt_names: [{ san_type: isIP(host) === 0 ? 'DNS' : 'IP_ADDRESS', matcher: { exact: host } }],
  };
  const sni = isIP(host) === 0 ? { sni: host } : {};
  if (secure) findCluster(config, 'chat').transport_socket = buildTls({ validation_context }, sni);

  const virtualHost = findConnectionManager(config).route_config.virtual_hosts[0];
  const base = url.pathname.replace(/\/+$/, '');
  for (const route of virtualHost.routes) {
    if (route.name === 'websocket' || route.name === 'loop') continue; // they do not lead to the upstream
    route.route = { ...route.route, host_rewrite_literal: url.host };
    const path = route.match.path_separated_prefix;
    if (base !== '/v1' && path !== undefined && route.name.startsWith('untouched_'))
      route.route['prefix_rewrite'] = path.replace(/^\/v1/, base);
    const metadata = route.typed_per_filter_config?.['envoy.filters.http.ext_proc'].overrides;
    if (metadata === undefined) continue;
    metadata.grpc_initial_metadata = [
      { key: 'x-upstream-path', value: `${base}/chat/completions` },
      ...(profile === undefined ? [] : [{ key: 'x-upstream-profile', value: profile }]),
    ];
  }
  if (key !== undefined)
    virtualHost.request_headers_to_add.push({
      // `%` begins a variable in Envoy's header values.
      header: { key: 'authorization', value: `Bearer ${key.replaceAll('%', '%%')}` },
      append_action: 'OVERWRITE_IF_EXISTS_OR_ADD',
    });
}

/**
 * Lets Envoy speak TLS to the service, with the service's own certificate as its client certificate (TLS_CLIENT_CA_FILE).
 * The certificate of the service is not checked, because it runs on this machine. Changes `config`.
 */
export function useServiceTls(config: EnvoyConfig, { certFile, keyFile }: { certFile: string; keyFile: string }): void {
  const tls_certificates = [{ certificate_chain: { filename: certFile }, private_key: { filename: keyFile } }];
  findCluster(config, 'responses_extproc').transport_socket = buildTls({ alpn_protocols: ['h2'], tls_certificates });
}

export function findEnvoyRoute(config: EnvoyConfig, wanted: string): EnvoyRoute {
  const { routes } = findConnectionManager(config).route_config.virtual_hosts[0];
  const route = routes.find(({ name }) => name === wanted);
  if (route === undefined) throw new Error(`envoy.yaml has no route ${wanted}`);
  return route;
}

/** The share of upgrades that go to the service's listener for WebSockets: 0 or 100. */
function findWebSocketSwitch(config: EnvoyConfig): { numerator: number } {
  const { runtime_fraction: fraction } = findEnvoyRoute(config, 'websocket').match;
  if (fraction === undefined) throw new Error('the route websocket of envoy.yaml has no switch');
  return fraction.default_value;
}

export function findConnectionManager(config: EnvoyConfig): ConnectionManager {
  return config.static_resources.listeners[0].filter_chains[0].filters[0].typed_config;
}

export function findCluster(config: EnvoyConfig, name: string): EnvoyCluster {
  const cluster = config.static_resources.clusters.find((candidate) => candidate.name === name);
  if (cluster === undefined) throw new Error(`envoy.yaml has no cluster ${name}`);
  return cluster;
}

function findEndpointAddress(config: EnvoyConfig, cluster: string): { address: EnvoyAddress } {
  return findCluster(config, cluster).load_assignment.endpoints[0].lb_endpoints[0].endpoint;
}

export function buildAddress({ host, port }: HostAndPort): EnvoyAddress {
  return { socket_address: { address: host, port_value: port } };
}

function buildTls(common_tls_context: object, more: object = {}): unknown {
  const type = 'type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext';
  return {
    name: 'envoy.transport_sockets.tls',
    typed_config: { '@type': type, ...more, common_tls_context },
  };
}
