import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import type { Resource } from './envoy-gateway.ts';
import { type KubernetesObject, parseObjects } from './manifests.ts';
import { moduleFolder, runTool } from './tools.ts';

/** A gateway's configuration as Istio's own discovery server makes it, in protobuf's JSON. */
export interface IstioGateway {
  readonly listeners: Resource[];
  readonly routes: Resource[];
  readonly clusters: Resource[];
  /** As Istio's agent writes it for the proxies of the Gateway. */
  readonly bootstrap: Resource;
}

const bootstrapTemplate = 'tools/packaging/common/envoy_bootstrap.json';
const kinds = [
  ...['Gateway', 'HTTPRoute', 'ReferenceGrant', 'InferencePool', 'Service'],
  ...['EnvoyFilter', 'DestinationRule', 'ServiceEntry', 'RequestAuthentication', 'AuthorizationPolicy'],
];

/** Objects that Istio creates in a cluster, and the Service of the Chat server. */
const surroundings = parseObjects(`
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: { name: istio }
spec: { controllerName: istio.io/gateway-controller }
---
apiVersion: v1
kind: Service
metadata: { name: llm-istio, labels: { gateway.networking.k8s.io/gateway-name: llm } }
spec:
  selector: { gateway.networking.k8s.io/gateway-name: llm }
  ports: [{ name: http, port: 80, targetPort: 80 }]
---
apiVersion: v1
kind: Service
metadata: { name: llm }
spec: { ports: [{ name: http, port: 8000, targetPort: 8000 }] }
`);

/** Translates objects for the proxies of the Gateway `llm`, with its EnvoyFilters applied. Throws Istio's output when it fails. */
export function translateForIstio(objects: readonly KubernetesObject[]): IstioGateway {
  const folder = mkdtempSync(join(tmpdir(), 'responses-extproc-kubernetes-'));
  try {
    const documents = [...objects.filter(({ kind }) => kinds.includes(kind)), ...surroundings].map((object, index) => {
      const named = { ...object, metadata: { namespace: 'llm', ...object.metadata } };
      if (object.kind === 'Service') named.spec = { clusterIP: `10.0.0.${index + 1}`, ...object.spec };
      return stringify(named);
    });
    const [input, output] = [join(folder, 'input.yaml'), join(folder, 'output.json')];
    writeFileSync(input, documents.join('\n---\n'));
    const [gateway] = objects.filter(({ kind }) => kind === 'Gateway');
    const annotations = gateway?.spec.infrastructure?.annotations ?? {};
    const environment = {
      PROXY_CONFIG: annotations['proxy.istio.io/config'] ?? '{}',
      TEMPLATE: join(moduleFolder(join(import.meta.dirname, 'istio'), 'istio.io/istio'), bootstrapTemplate),
      ...{ INPUT: input, OUTPUT: output, GATEWAY: 'llm', NAMESPACE: 'llm' },
      ENABLE_GATEWAY_API_INFERENCE_EXTENSION: 'true',
    };
    runTool('istio-translate', ['-test.run', '^TestTranslate$'], { environment });
    const { bootstrap, ...rest } = JSON.parse(readFileSync(output, 'utf8'));
    // The template is written in protobuf's own names, what Istio sends in those of its JSON.
    const { stats_config: statsConfig, overload_manager: overloadManager } = bootstrap;
    return { ...rest, bootstrap: { statsConfig, overloadManager } };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Adds an InferencePool `models` with its endpoint picker, and what Istio's other controllers add in a cluster: the pool's
 * Service, and in each route's status the Gateway that accepted it.
 */
export function withInferencePool(objects: readonly KubernetesObject[]): KubernetesObject[] {
  const hash = createHash('sha256').update('models').digest('hex').slice(0, 8);
  const parents = [{ parentRef: { name: 'llm' }, controllerName: 'istio.io/gateway-controller', conditions: [] }];
  return [
    ...objects.map((object) => (object.kind === 'HTTPRoute' ? { ...object, status: { parents } } : object)),
    ...parseObjects(`
apiVersion: inference.networking.k8s.io/v1
kind: InferencePool
metadata: { name: models }
spec:
  selector: { matchLabels: { app: vllm } }
  targetPorts: [{ number: 8000 }]
  endpointPickerRef: { name: picker, port: { number: 9002 } }
---
apiVersion: v1
kind: Service
metadata: { name: picker }
spec: { ports: [{ name: grpc, port: 9002, targetPort: 9002, appProtocol: kubernetes.io/h2c }] }
---
apiVersion: v1
kind: Service
metadata:
  name: models-ip-${hash}
  labels:
    istio.io/inferencepool-name: models
    istio.io/inferencepool-extension-service: picker
    istio.io/inferencepool-extension-port: "9002"
    istio.io/inferencepool-extension-failure-mode: FailClose
    internal.istio.io/service-semantics: inferencepool
spec:
  clusterIP: None
  selector: { app: vllm }
  ports: [{ name: http-0, port: 54321, targetPort: 8000 }]
`),
  ];
}

/**
 * The configuration without the filters that only Istio's build of Envoy has (`istio.*`), and without mTLS, whose certificates
 * come from Istio's agent. Any Envoy can load it.
 */
export function withoutIstiosOwn(gateway: IstioGateway): IstioGateway {
  const own = (filter: Resource) => String(filter['name']).startsWith('istio.');
  const copy = structuredClone(gateway);
  for (const listener of copy.listeners)
    for (const chain of listener['filterChains']) {
      chain.filters = chain.filters.filter((filter: Resource) => !own(filter));
      const manager = chain.filters.at(-1).typedConfig;
      manager.httpFilters = manager.httpFilters.filter((filter: Resource) => !own(filter));
    }
  for (const cluster of copy.clusters) {
    delete cluster['transportSocketMatches'];
    cluster['filters'] = (cluster['filters'] ?? []).filter((filter: Resource) => !own(filter));
  }
  return copy;
}
