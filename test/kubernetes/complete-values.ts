import { configurable } from '../../scripts/generate/kubernetes-render.ts';
import { builtInProfiles } from '../../src/filter/upstream/profiles.ts';

/** Values of the chart, by name. */
export type Values = { [name: string]: unknown };

/** Two entries for each list of values.yaml. */
export const lists: Readonly<Record<string, readonly [unknown, unknown]>> = {
  'global.imagePullSecrets': ['three', { name: 'four' }],
  imagePullSecrets: [{ name: 'one' }, 'two'],
  extraEnv: [
    { name: 'ONE', value: '1' },
    { name: 'TWO', valueFrom: { secretKeyRef: { name: 'two', key: 'two' } } },
  ],
  envFrom: [{ configMapRef: { name: 'one', optional: true } }, { prefix: 'TWO_', secretRef: { name: 'two' } }],
  extraVolumes: [
    { name: 'one', configMap: { name: 'one', items: [{ key: 'one', path: 'one' }] } },
    { name: 'two', emptyDir: { medium: 'Memory', sizeLimit: '1Mi' } },
  ],
  extraVolumeMounts: [
    { name: 'one', mountPath: '/one' },
    { name: 'two', mountPath: '/two', subPath: 'below', readOnly: true },
  ],
  'securityContext.capabilities.drop': ['ALL', 'NET_RAW'],
  'autoscaling.behavior.scaleDown.policies': [
    { type: 'Pods', value: 1, periodSeconds: 60 },
    { type: 'Percent', value: 10, periodSeconds: 600 },
  ],
  tolerations: [
    { key: 'one', operator: 'Exists' },
    { key: 'two', operator: 'Equal', value: 'x', effect: 'NoExecute', tolerationSeconds: 60 },
  ],
  topologySpreadConstraints: [
    { maxSkew: 1, topologyKey: 'one', whenUnsatisfiable: 'ScheduleAnyway' },
    {
      ...{ maxSkew: 2, topologyKey: 'two', whenUnsatisfiable: 'DoNotSchedule', minDomains: 2 },
      ...{ labelSelector: { matchLabels: { app: 'one' } }, matchLabelKeys: ['pod-template-hash'] },
    },
  ],
  'networkPolicy.proxies': [
    { podSelector: { matchLabels: { app: 'one' } } },
    { podSelector: { matchExpressions: [{ key: 'app', operator: 'In', values: ['two'] }] } },
  ],
  'networkPolicy.monitoring': [{ podSelector: { matchLabels: { app: 'three' } } }, { ipBlock: { cidr: '10.0.0.0/8' } }],
  'networkPolicy.egress': [
    { to: [{ podSelector: { matchLabels: { app: 'collector' } } }], ports: [{ port: 4318 }] },
    { ports: [{ port: 53, protocol: 'UDP' }, { port: 5353 }] },
  ],
  'gateway.hostnames': ['one.example', 'two.example'],
  'gateway.auth.jwt.audiences': ['audience-one', 'audience-two'],
  'gateway.routes': ['/one', '/two'],
  'gateway.upstreams': [
    {
      ...{ name: 'hosted', host: 'api.example.com', port: 443, profile: 'openai', path: '/openai/v1/chat/completions' },
      ...{ tls: { enabled: true, sni: 'api.example.com', subjectAltNames: ['api.example.com'], caSecret: 'ca' } },
      ...{ apiKey: { name: 'hosted', key: 'credential', header: 'api-key' }, models: ['one', 'two*'], default: false },
      ...{ idleTimeout: '30s', maxRequestsPerConnection: 10 },
    },
    { name: 'own', service: { name: 'llm', namespace: '' }, port: 8000 },
  ],
  initContainers: [
    { name: 'init-one', image: 'example.com/one' },
    { name: 'init-two', image: 'example.com/two', command: ['two'] },
  ],
  extraContainers: [
    { name: 'beside-one', image: 'example.com/one' },
    { name: 'beside-two', image: 'example.com/two', command: ['two'] },
  ],
  hostAliases: [
    { ip: '192.0.2.1', hostnames: ['one.example'] },
    { ip: '2001:db8::1', hostnames: ['two.example', 'three.example'] },
  ],
  ...Object.fromEntries(
    ['serviceMonitor', 'podMonitor'].flatMap((monitor) => [
      [
        `monitoring.${monitor}.relabelings`,
        [
          { sourceLabels: ['__meta_kubernetes_pod_node_name'], targetLabel: 'node' },
          { action: 'labeldrop', regex: 'pod_.*' },
        ],
      ],
      [
        `monitoring.${monitor}.metricRelabelings`,
        [
          { sourceLabels: ['__name__'], regex: 'one_.*', action: 'drop' },
          {
            sourceLabels: ['model'],
            separator: ';',
            regex: '(.*)',
            targetLabel: 'llm',
            replacement: '$1',
            action: 'replace',
          },
        ],
      ],
    ]),
  ),
  extraObjects: [
    { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'one' } },
    { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'two' }, data: { key: 'value' } },
  ],
};

const term = { matchExpressions: [{ key: 'kind', operator: 'In', values: ['cpu'] }] };
const near = { topologyKey: 'zone', labelSelector: { matchLabels: { app: 'one' } } };
const affinity = {
  nodeAffinity: {
    requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [term] },
  },
  podAntiAffinity: {
    preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, podAffinityTerm: near }],
  },
};

const resources = { requests: { cpu: '1', memory: '1Gi' }, limits: { cpu: '2', memory: '2Gi' } };
const jwt = { issuer: 'https://issuer.example', jwksUri: 'https://issuer.example/keys', audiences: ['one', 'two'] };

/** Values over the defaults with which nearly everything of the chart is in use: each can then be made wrong. */
export const complete: Readonly<Record<'envoy-gateway' | 'istio', Values>> = {
  'envoy-gateway': {
    ...everywhere(),
    tls: {
      ...{ secretName: 'tls', hostname: 'service.example', caConfigMap: 'ca' },
      ...{ clientCaSecret: 'clients', clientCertificate: 'envoy' },
    },
    gateway: {
      ...gatewayOf('envoy-gateway'),
      envoyGateway: {
        image: 'example.com/envoy:1',
        patchPolicy: true,
        backendTraffic: { useClientProtocol: false },
        resources,
      },
    },
  },
  istio: {
    ...everywhere(),
    gateway: { ...gatewayOf('istio'), istio: { mesh: 'sidecar', workloadLabels: { app: 'gateway' }, resources } },
  },
};

function everywhere(): Values {
  const [image, digest] = ['team/responses-extproc', `sha256:${'0'.repeat(64)}`];
  const top = Object.entries(lists).filter(([path]) => !path.includes('.'));
  const networkPolicy = Object.fromEntries(
    ['proxies', 'monitoring', 'egress'].map((name) => [name, lists[`networkPolicy.${name}`]]),
  );
  return {
    global: { imageRegistry: 'example.com', imagePullSecrets: lists['global.imagePullSecrets'] },
    image: { registry: 'other.example.com:5000', repository: image, tag: '1', digest },
    config: Object.fromEntries(
      configurable.flatMap(({ variable, fallback }) => (fallback === '' ? [] : [[variable, fallback]])),
    ),
    profiles: {
      mine: { extends: [...builtInProfiles.keys()][0], image: 'omit', models: { '/qwen/i': { video: true } } },
    },
    ...Object.fromEntries(top),
    affinity,
    resources,
    networkPolicy,
    autoscaling: {
      targetActiveExchanges: 2000,
      behavior: { scaleUp: { selectPolicy: 'Max', policies: lists['autoscaling.behavior.scaleDown.policies'] } },
    },
    podDisruptionBudget: { minAvailable: 1 },
    nameOverride: 'responses',
    fullnameOverride: 'responses-extproc',
    commonLabels: { department: 'research' },
    deploymentAnnotations: { 'example.com/owner': 'team' },
    podSecurityContext: { fsGroup: 2000, fsGroupChangePolicy: 'Always', supplementalGroups: [3000, 4000] },
    securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
    serviceAccount: { name: 'one', annotations: { 'example.com/role': 'reader' } },
    podAnnotations: { 'example.com/note': 'text' },
    podLabels: { team: 'llm' },
    nodeSelector: { disk: 'ssd' },
    priorityClassName: 'high',
    service: { type: 'LoadBalancer', annotations: { 'example.com/note': 'text' } },
    terminationGracePeriodSeconds: 1000,
    lifecycle: {
      postStart: { exec: { command: ['node', '--version'] } },
      preStop: { httpGet: { path: '/healthz', port: 'admin', scheme: 'HTTP' } },
    },
    startupProbe: { initialDelaySeconds: 1, successThreshold: 1 },
    readinessProbe: { initialDelaySeconds: 1, successThreshold: 2 },
    livenessProbe: { initialDelaySeconds: 1 },
    dnsConfig: {
      ...{ nameservers: ['192.0.2.53', '2001:db8::53'], searches: ['one.example', 'two.example'] },
      options: [{ name: 'ndots', value: '2' }, { name: 'rotate' }],
    },
    webSocket: { enabled: true, forwardTo: 'http://gateway.example/v1' },
    monitoring: {
      ...Object.fromEntries(
        ['serviceMonitor', 'podMonitor', 'prometheusRule', 'dashboard'].map((name) => [
          name,
          {
            enabled: true,
            labels: { team: 'llm' },
            ...(name.endsWith('Monitor') && {
              ...{ namespace: 'monitoring', scrapeTimeout: '10s' },
              relabelings: lists[`monitoring.${name}.relabelings`],
              metricRelabelings: lists[`monitoring.${name}.metricRelabelings`],
            }),
          },
        ]),
      ),
      envoy: { clusterName: 'translator', statPrefix: 'edge' },
    },
  };
}

function gatewayOf(kind: string): Values {
  return {
    kind,
    hostnames: ['api.example.com'],
    tlsSecretName: 'certificate',
    routes: lists['gateway.routes'],
    upstreams: lists['gateway.upstreams'],
    auth: { jwt },
    annotations: { 'example.com/note': 'text' },
    labels: { exposed: 'internal' },
    service: { type: 'LoadBalancer', annotations: { 'example.com/internal': 'true' } },
  };
}
