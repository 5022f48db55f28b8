import { stringify } from 'yaml';
import type { KubernetesObject } from './manifests.ts';
import { runTool } from './tools.ts';

/** Envoy's configuration as Envoy Gateway's own translator makes it, in protobuf's JSON. */
export interface Translated {
  /** Status conditions by object, such as `HTTPRoute/responses-extproc`. */
  readonly conditions: ReadonlyMap<string, readonly Condition[]>;
  readonly listeners: Resource[];
  readonly routes: Resource[];
  readonly clusters: Resource[];
  readonly endpoints: Resource[];
  readonly bootstrap: Resource;
}
export interface Condition {
  readonly type: string;
  readonly status: string;
  readonly message: string;
}
// biome-ignore lint/suspicious/noExplicitAny: Envoy's own types, hundreds of them; a wrong path fails the test that takes it.
export type Resource = Record<string, any>;

/** API groups that the translator accepts; it refuses others. */
const groups = ['', 'gateway.networking.k8s.io', 'gateway.envoyproxy.io'];

/**
 * Translates objects with `egctl`, which validates them against the CRDs first. Throws its output when it fails. Services
 * get an address, since there is no cluster that would assign one.
 */
export function translateForEnvoyGateway(objects: readonly KubernetesObject[]): Translated {
  let services = 0;
  const documents = objects
    .filter(({ apiVersion, kind }) => groups.includes(groupOf(apiVersion)) && kind !== 'ServiceAccount')
    .map((object) => {
      const named = { ...object, metadata: { namespace: 'llm', ...object.metadata } };
      if (object.kind === 'Service') named.spec = { clusterIP: `10.0.0.${++services}`, ...object.spec };
      return stringify(named);
    });
  const output = JSON.parse(
    runTool(
      'egctl',
      [
        ...['x', 'translate', '--from', 'gateway-api', '--to', 'gateway-api,xds', '-t', 'all'],
        ...['-o', 'json', '-f', '-'],
      ],
      { input: documents.join('---\n') },
    ),
  );
  const [dump] = Object.values(output.xds as Record<string, { configs: Resource[] }>);
  if (dump === undefined) throw new Error('Envoy Gateway makes no configuration of these objects.');
  const configs = Object.assign({}, ...dump.configs) as Resource;
  return {
    conditions: new Map(
      Object.values(output)
        .flat()
        .flatMap((object) => conditionsOf(object as Resource)),
    ),
    listeners: configs['dynamicListeners'].map((entry: Resource) => untyped(entry['activeState'].listener)),
    routes: configs['dynamicRouteConfigs'].map((entry: Resource) => untyped(entry['routeConfig'])),
    clusters: configs['dynamicActiveClusters'].map((entry: Resource) => untyped(entry['cluster'])),
    bootstrap: configs['bootstrap'],
    endpoints: configs['dynamicEndpointConfigs'].map((entry: Resource) => untyped(entry['endpointConfig'])),
  };
}

/** A configuration dump contains `@type` in each resource; a bootstrap may not. */
function untyped({ '@type': _type, ...resource }: Resource): Resource {
  return resource;
}

function groupOf(apiVersion: string): string {
  return apiVersion.includes('/') ? (apiVersion.split('/')[0] ?? '') : '';
}

function conditionsOf(object: Resource): [string, Condition[]][] {
  if (object['kind'] === undefined) return [];
  const { ancestors, parents, conditions } = object['status'] ?? {};
  const all = [...(ancestors ?? []), ...(parents ?? []), { conditions: conditions ?? [] }];
  const told = all.flatMap((status: Resource) => (status['conditions'] ?? []) as Condition[]);
  return [[`${object['kind']}/${object['metadata'].name}`, told]];
}
