import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { EnvoyBinary } from '../../mesh/envoy-binary.ts';
import { findFreePort } from '../../mesh/ports.ts';
import { type Child, startChild } from '../../mesh/processes.ts';
import type { LogLine } from '../support/mesh.ts';
import type { Resource } from './envoy-gateway.ts';

/** The configuration that a control plane sends to Envoy. */
export interface ControlPlane {
  readonly listener: Resource;
  readonly routes: Resource;
  readonly clusters: readonly Resource[];
  /** The bootstrap that its Envoys start with: which statistics they keep, and by which names, is said there. */
  readonly bootstrap?: Resource;
}

/** Address of a pod of the service, and its health in EDS. */
export interface PodAddress {
  readonly address: string;
  readonly draining?: boolean;
}

export interface SocketEndpoint {
  readonly address: string;
  readonly port: number;
}

export interface StaticEnvoy {
  readonly url: string;
  /** Lines of the access log so far; none where the configuration has no access log. */
  accessLog(): LogLine[];
  readonly child: Child;
  admin(path: string): Promise<string>;
  /** Changes the endpoints of the service, as a control plane does when pods come and go. */
  setPods(pods: readonly PodAddress[]): void;
  close(): Promise<void>;
}

export interface StaticEnvoyOptions {
  readonly binary: EnvoyBinary;
  readonly controlPlane: ControlPlane;
  /** Name of the cluster of the service. */
  readonly service: string;
  /** Ports of every pod; `admin` where health checks go there. */
  readonly ports: { readonly grpc: number; readonly admin?: number | undefined };
  readonly pods: readonly PodAddress[];
  /** Port of the Chat server, on 127.0.0.1: every other cluster leads there, unless `endpoints` names it. */
  readonly upstream: number;
  /** The port to listen on; a free one, unless somebody has to know it before. */
  readonly listen?: number;
  /** Envoy's `--config-yaml`, which is merged with the bootstrap. */
  readonly configYaml?: string | undefined;
  /** Where other clusters lead. */
  readonly endpoints?: Readonly<Record<string, readonly SocketEndpoint[]>>;
  /** The contents of a secret that a control plane would send, by the name that it gives it. */
  readonly secrets?: (name: string) => Resource | undefined;
}

const accessLogFile = 'access.log';
const endpointsFile = 'endpoints.json';

/**
 * A control plane's configuration as a static bootstrap: routes inside the listener, endpoints of the service in a file that
 * Envoy watches (EDS from the file system), addresses of this machine. Nothing else is changed.
 */
export function bootstrapOf(
  { controlPlane, service, upstream, endpoints = {}, secrets }: Omit<StaticEnvoyOptions, 'binary' | 'pods' | 'ports'>,
  { listen, admin, folder }: { listen: number; admin: number; folder: string },
): Resource {
  // A test's standard output is a socket, which Envoy cannot open by name.
  const accessLog = JSON.stringify(join(folder, accessLogFile));
  const stdout = '"@type":"type.googleapis.com/envoy.extensions.access_loggers.stream.v3.StdoutAccessLog"';
  const file = `"@type":"type.googleapis.com/envoy.extensions.access_loggers.file.v3.FileAccessLog","path":${accessLog}`;
  const sent = new Map<string, Resource>();
  const authorities = { validationContext: { trustedCa: { filename: '/etc/ssl/certs/ca-certificates.crt' } } };
  const fromSecrets = (key: string, value: Resource | undefined): unknown => {
    // Istio's agent has a key in the bootstrap, where it is not in the secrets that a test gives.
    const ofAgent = key === 'credential' && secrets === undefined && value?.['typedConfig'] === undefined;
    if (value?.['sdsConfig'] === undefined && !ofAgent) return value;
    const { name } = value as { name: string };
    const other = key === 'credential' ? { genericSecret: { secret: { inlineString: 'none' } } } : authorities;
    sent.set(name, { name, ...(secrets?.(name) ?? other) });
    return { name };
  };
  const listener: Resource = JSON.parse(
    JSON.stringify(controlPlane.listener).replaceAll('"/dev/stdout"', accessLog).replaceAll(stdout, file),
    // Envoy Gateway's filter of a route has a key there.
    (key, value) => (key === 'credential' ? fromSecrets(key, value) : value),
  );
  listener['address'] = addressOf('127.0.0.1', listen);
  const chains = [...(listener['filterChains'] ?? []), listener['defaultFilterChain'] ?? []].flat();
  for (const chain of chains) {
    const manager = chain.filters.at(-1).typedConfig;
    delete manager.rds;
    manager.routeConfig = controlPlane.routes;
  }
  const clusters = controlPlane.clusters.map((original) => {
    const cluster: Resource = JSON.parse(JSON.stringify(original, fromSecrets));
    const { loadAssignment: known } = cluster;
    if (cluster['type'] !== 'EDS' && endpoints[cluster['name']] === undefined) return cluster;
    if (cluster['name'] === service) {
      const pathConfigSource = { path: join(folder, endpointsFile) };
      cluster['edsClusterConfig'] = { edsConfig: { pathConfigSource, resourceApiVersion: 'V3' } };
      return cluster;
    }
    delete cluster['edsClusterConfig'];
    for (const field of ['clusterType', 'dnsLookupFamily', 'respectDnsTtl']) delete cluster[field];
    const places = endpoints[cluster['name']] ?? [{ address: '127.0.0.1', port: upstream }];
    // A cluster that knows its hosts by name keeps the names, and what it says of them, at other addresses.
    const [host] = known?.endpoints?.[0]?.lbEndpoints ?? [];
    const hostname = host?.endpoint.address.socketAddress.address;
    const lbEndpoints = places.map(({ address, port }) => ({
      ...(host && { metadata: host.metadata }),
      endpoint: { address: addressOf(address, port), ...(hostname && { hostname }) },
    }));
    const loadAssignment = { clusterName: cluster['name'], endpoints: [{ lbEndpoints }] };
    return { ...cluster, type: 'STATIC', loadAssignment };
  });
  const { statsConfig, deferredStatOptions, overloadManager } = controlPlane.bootstrap ?? {};
  return {
    node: { id: 'test', cluster: 'test' }, // EDS asks for both
    ...{ statsConfig, deferredStatOptions, overloadManager },
    admin: { address: addressOf('127.0.0.1', admin) },
    staticResources: { listeners: [listener], clusters, secrets: [...sent.values()] },
  };
}

/** Endpoints as a control plane gives them. */
export function endpointsOf(
  service: string,
  ports: StaticEnvoyOptions['ports'],
  pods: readonly PodAddress[],
): Resource {
  return {
    resources: [
      {
        '@type': 'type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment',
        clusterName: service,
        endpoints: [
          {
            locality: { region: 'test' },
            lbEndpoints: pods.map(({ address, draining = false }) => ({
              endpoint: {
                address: addressOf(address, ports.grpc),
                ...(ports.admin === undefined ? {} : { healthCheckConfig: { portValue: ports.admin } }),
              },
              healthStatus: draining ? 'DRAINING' : 'HEALTHY',
            })),
          },
        ],
      },
    ],
  };
}

/** Runs `envoy --mode validate`. Returns its errors, an empty string when there are none. */
export function validateBootstrap(binary: EnvoyBinary, options: Omit<StaticEnvoyOptions, 'binary'>): string {
  const folder = mkdtempSync(join(tmpdir(), 'responses-extproc-kubernetes-'));
  try {
    writeFileSync(
      join(folder, endpointsFile),
      JSON.stringify(endpointsOf(options.service, options.ports, options.pods)),
    );
    const config = join(folder, 'envoy.json');
    writeFileSync(config, JSON.stringify(bootstrapOf(options, { listen: 10080, admin: 9901, folder })));
    const { status, stderr } = spawnSync(binary.path, ['--mode', 'validate', '-l', 'error', '-c', config], {
      encoding: 'utf8',
    });
    return status === 0 ? stderr : `exit code ${status}: ${stderr}`;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Starts Envoy on it; resolves when it is ready. */
export async function startStaticEnvoy(options: StaticEnvoyOptions): Promise<StaticEnvoy> {
  const folder = mkdtempSync(join(tmpdir(), 'responses-extproc-kubernetes-'));
  const [listen, admin] = [options.listen ?? (await findFreePort()), await findFreePort()];
  function setPods(pods: readonly PodAddress[]): void {
    // Moved into place: Envoy watches for that, and must not read half a file.
    const file = join(folder, endpointsFile);
    writeFileSync(`${file}.new`, JSON.stringify(endpointsOf(options.service, options.ports, pods)));
    renameSync(`${file}.new`, file);
  }
  setPods(options.pods);
  const config = join(folder, 'envoy.json');
  writeFileSync(config, JSON.stringify(bootstrapOf(options, { listen, admin, folder })));
  const output: string[] = [];
  const child = startChild(
    'envoy',
    options.binary.path,
    [
      ...['-c', config, '--concurrency', '1', '-l', 'warn'],
      ...(options.configYaml === undefined ? [] : ['--config-yaml', options.configYaml]),
      ...['--disable-hot-restart', '--file-flush-interval-msec', '100'],
    ],
    { onLine: (line) => output.push(line) },
  );
  let ended: string | undefined;
  void child.ended.then((how) => {
    ended = how;
  });
  const ask = async (path: string) => (await fetch(`http://127.0.0.1:${admin}${path}`)).text();
  while (!(await ask('/ready').catch(() => '')).startsWith('LIVE')) {
    if (ended !== undefined) throw new Error(`Envoy ended (${ended}):\n${output.join('\n')}`);
    await sleep(50);
  }
  return {
    url: `http://127.0.0.1:${listen}`,
    accessLog() {
      const file = join(folder, accessLogFile);
      const lines = existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [];
      return lines.map((line) => JSON.parse(line) as LogLine);
    },
    child,
    admin: ask,
    setPods,
    async close() {
      await child.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function addressOf(address: string, portValue: number): Resource {
  return { socketAddress: { address, portValue } };
}
