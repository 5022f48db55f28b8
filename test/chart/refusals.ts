const jwt = 'gateway.auth.jwt.issuer=https://issuer.example,gateway.auth.jwt.jwksUri=https://issuer.example/keys';
/** An upstream, as `--set` writes it. */
const upstream = (index: number, fields: Readonly<Record<string, string>>): string =>
  Object.entries({ name: 'abcdefgh'.charAt(index), port: '443', ...fields })
    .map(([name, value]) => `gateway.upstreams[${index}].${name}=${value}`)
    .join(',');
const hosted = (index: number, fields: Readonly<Record<string, string>> = {}): string =>
  upstream(index, { host: `${index}.example.com`, ...fields });
const presented = 'gateway.kind=envoy-gateway,tls.secretName=tls,tls.clientCaSecret=ca,tls.clientCertificate=envoy';

/** Values that the chart refuses, as `--set` writes them, and what it says. Where they name no gateway, Istio is meant. */
export const refusals: readonly (readonly [values: string, message: RegExp])[] = [
  ['config.UPSTREAM_PROFIL=vllm', /UPSTREAM_PROFIL/],
  ['replica=3', /replica/],
  ['autoscaling.cpuPercent=60', /value must be 'under the name autoscaling\.targetCPUUtilizationPercentage'/],
  ['service.port=80', /at '\/service\/port': value must be 'left out: the ports are 50051/],
  ['livenessProbe.httpGet.path=/', /at '\/livenessProbe\/httpGet': value must be 'left out: /],
  [
    'terminationGracePeriodSeconds=30',
    /terminationGracePeriodSeconds: 30 is below .* set drain\.timeoutSeconds 587 s lower/,
  ],
  [
    'image.registry=mirror.example.com,image.repository=example.com/team/image',
    /image\.repository: example\.com\/team\/image names a registry, and mirror\.example\.com would stand before it/,
  ],
  [
    'extraContainers[0].name=responses-extproc,extraContainers[0].image=x',
    /extraContainers: there is a container responses-extproc already/,
  ],
  [
    'extraContainers[0].name=a,extraContainers[0].image=x,initContainers[0].name=a,initContainers[0].image=x',
    /initContainers: there is a container a already/,
  ],
  [
    'extraContainers[0].name=a,extraContainers[0].image=x,extraContainers[1].name=a,extraContainers[1].image=x',
    /extraContainers: there is a container a already/,
  ],
  ['{"lifecycle":{"preStop":{"httpGet":{"port":"0"}}}}', /at '\/lifecycle\/preStop\/httpGet\/port'/],
  ['{"networkPolicy":{"egress":[{"ports":[{"port":"0"}]}]}}', /at '\/networkPolicy\/egress\/0\/ports\/0\/port'/],
  [
    'monitoring.serviceMonitor.scrapeTimeout=20s',
    /serviceMonitor\.scrapeTimeout: 20s is above the interval of 15s, which Prometheus refuses/,
  ],
  ['gateway.create=false,gateway.annotations.a=b', /gateway\.annotations: there is no Gateway of the chart's/],
  [
    'gateway.annotations.cert-manager\\.io/issuer=internal',
    /gateway\.hostnames: cert-manager makes a certificate for the host of the listener/,
  ],
  ['replicas=3', /at '\/replicas': value must be 'under the name replicaCount'/],
  ['gateway.kind=nginx', /gateway/],
  ['maxRequestMiB=64', /maxRequestMiB: 64 does not fit heapMiB: 700.*at most 23/],
  ['autoscaling.maxReplicas=1', /maxReplicas is below minReplicas/],
  ['gateway.upstream.kind=InferencePool', /needs group inference/],
  ['heapMiB=900', /heapMiB: 900 does not fit resources\.limits\.memory: 1Gi.*at most 716/],
  ['resources.limits.memory=128Mi,resources.requests.memory=128Mi', /resources\.limits\.memory: 128Mi is too little/],
  ['config.OTEL_EXPORTER_OTLP_ENDPOINT=http://collector:4318', /networkPolicy\.egress: traces are exported/],
  ['gateway.auth.apiKey.secretName=keys', /gateway\.auth\.apiKey: Envoy Gateway only/],
  ['gateway.namespace=elsewhere', /gateway\.namespace: for a Gateway that is there already/],
  ['tls.clientCaSecret=ca', /tls\.clientCaSecret: needs tls\.secretName/],
  ['tls.caConfigMap=ca', /tls\.caConfigMap: needs tls\.secretName/],
  [
    'gateway.kind=envoy-gateway,tls.secretName=tls,tls.clientCaSecret=ca',
    /tls\.clientCaSecret: needs tls\.clientCertificate/,
  ],
  [`${presented},gateway.create=false`, /tls\.clientCertificate: .* not with gateway\.create=false/],
  ['gateway.auth.jwt.issuer=https://issuer.example', /gateway\.auth\.jwt: without jwksUri, .* nobody needs a token/],
  ['gateway.auth.jwt.audiences={llm}', /gateway\.auth\.jwt: without jwksUri, .* nobody needs a token/],
  ['gateway.kind=envoy-gateway,gateway.auth.jwt.audiences={llm}', /gateway\.auth\.jwt: without jwksUri/],
  [
    'gateway.kind=none,networkPolicy.enabled=false,gateway.auth.jwt.audiences={llm}',
    /gateway\.auth\.jwt: without jwksUri/,
  ],
  [`gateway.kind=envoy-gateway,gateway.auth.apiKey.secretName=keys,${jwt}`, /gateway\.auth: apiKey or jwt, not both/],
  [`gateway.create=false,${jwt}`, /gateway\.auth\.jwt: Istio checks tokens on every host.*wholeGateway=true/],
  [`gateway.auth.jwt.wholeGateway=true,${jwt}`, /gateway\.auth\.jwt\.wholeGateway: only for/],
  [`gateway.kind=none,networkPolicy.enabled=false,${jwt}`, /gateway\.auth\.jwt: with gateway\.kind=none/],
  ['gateway.kind=envoy-gateway,gateway.create=false,gateway.envoyGateway.patchPolicy=true', /which listener/],
  [
    'gateway.kind=envoy-gateway,gateway.create=false,gateway.namespace=a,gateway.envoyGateway.patchPolicy=true',
    /patchPolicy: needs the Gateway in the namespace/,
  ],
  ['gateway.hostnames={https://api.example.com}', /at '\/gateway\/hostnames\/0'/],
  ['gateway.hostnames={api.example.com:8080}', /at '\/gateway\/hostnames\/0'/],
  ['gateway.hostnames={API.example.com}', /at '\/gateway\/hostnames\/0'/],
  ['gateway.routes={/v1//models}', /at '\/gateway\/routes\/0'/],
  ['gateway.routes={/v1/responses/compact}', /gateway\.routes: \/v1\/responses\/compact .* would bypass it/],
  ['gateway.routes={/v1/conversations}', /gateway\.routes: \/v1\/conversations .* would bypass it/],
  ['podDisruptionBudget.maxUnavailable=lots', /at '\/podDisruptionBudget\/maxUnavailable'/],
  ['podDisruptionBudget.maxUnavailable=-1', /at '\/podDisruptionBudget\/maxUnavailable'/],
  ['gateway.istio.autoscaling.minReplicas=11', /gateway\.istio\.autoscaling: maxReplicas is below minReplicas/],
  ['gateway.envoyGateway.autoscaling.maxReplicas=1', /gateway\.envoyGateway\.autoscaling: maxReplicas is below/],
  ['resources.limits.cpu=500m', /resources\.requests\.cpu: 1 is more than limits\.cpu: 500m/],
  ['gateway.istio.resources.limits.memory=256Mi', /gateway\.istio\.resources\.requests\.memory: 512Mi is more than/],
  ['podLabels.app\\.kubernetes\\.io/name=mine', /podLabels: app\.kubernetes\.io\/name is the chart's own/],
  ['extraEnv[0].name=ONE,extraEnv[0].value=1', /at '\/extraEnv\/0\/value'/],
  ['extraEnv[0].name=LISTEN,extraEnv[0].value=x', /extraEnv: the chart sets LISTEN/],
  ['extraEnv[0].name=WORKERS,extraEnv[0].value=two', /extraEnv: the chart sets WORKERS/],
  ['extraEnv[0].name=NODE_OPTIONS,extraEnv[0].value=--max-old-space-size=2048', /NODE_OPTIONS from heapMiB/],
  ['extraEnv[0].name=LOG_LEVEL,extraEnv[0].value=loud', /extraEnv: LOG_LEVEL belongs in config/],
  [
    'config.LOG_LEVEL=info,extraEnv[0].name=LOG_LEVEL,extraEnv[0].valueFrom.fieldRef.fieldPath=metadata.name',
    /extraEnv: LOG_LEVEL is set already/,
  ],
  ['webSocket.enabled=true,config.WEBSOCKET_LISTEN=:1', /at '\/config'.*WEBSOCKET_LISTEN/],
  ['webSocket.enabled=true,webSocket.forwardTo=http://gateway', /webSocket\.forwardTo: .* has to end with \/v1/],
  ['webSocket.forwardTo=http://gateway/v1', /webSocket\.forwardTo: needs webSocket\.enabled/],
  ['config.UPSTREAM_PROFILE=vlm', /config\.UPSTREAM_PROFILE: vlm is none of generic, .* nor one of profiles/],
  ['profiles.vllm.extends=generic', /profiles\.vllm: is the name of a built-in profile/],
  ['gateway.streamIdleTimeout=5m', /gateway\.streamIdleTimeout: 5m is not above UPSTREAM_IDLE_TIMEOUT_MS: 300000/],
  ['config.UPSTREAM_IDLE_TIMEOUT_MS=900000', /streamIdleTimeout: 900s is not above UPSTREAM_IDLE_TIMEOUT_MS: 900000/],
  ['gateway.upstream.kind=Backend', /gateway\.upstream: kind Backend needs group/],
  ['gateway.upstream.group=gateway.envoyproxy.io', /gateway\.upstream: kind Service needs group ""/],
  [
    'gateway.upstream.kind=InferencePool,gateway.upstream.group=inference.networking.k8s.io',
    /gateway\.upstream\.port: kind InferencePool has its own/,
  ],
  ['gateway.envoyGateway.backendTraffic.timeout.http.requestTimeout=5s', /backendTraffic'.*'timeout' not allowed/],
  ['gateway.allowedRoutes.namespaces.from=Selector', /gateway\.allowedRoutes\.namespaces: .* go together/],
  ['gateway.upstream.namespace=Other', /at '\/gateway\/upstream\/namespace'/],
  ['gateway.messageTimeout=1m1h', /gateway\.messageTimeout: 1m1h is more than an hour/],
  ['gateway.sectionName=other', /gateway\.sectionName: for a Gateway that is there already/],
  [
    'resources.requests.memory=null,resources.limits.memory=512m',
    /resources\.limits\.memory: 512m is not a quantity of memory of 1Mi or more/,
  ],
  ['gateway.upstream.port=null', /gateway\.upstream: a Service needs a port/],
  [
    'gateway.upstream.kind=InferencePool,gateway.upstream.group=inference.networking.k8s.io,gateway.upstream.port=null,gateway.upstream.namespace=b',
    /gateway\.upstream\.namespace: an InferencePool is in the namespace of its routes/,
  ],
  [
    'gateway.upstream.kind=Backend,gateway.upstream.group=gateway.envoyproxy.io,gateway.upstream.port=null',
    /gateway\.upstream: kind Backend is Envoy Gateway's/,
  ],
  [
    'gateway.istio.mesh=sidecar,podAnnotations.proxy\\.istio\\.io/config=x',
    /podAnnotations: the chart sets proxy\.istio\.io\/config/,
  ],
  ['{"config":{"MAX_TOOLS":"0"}}', /config\.MAX_TOOLS: 0 is not from 1 to 100000/],
  ['profilesConfigMap=ours,profiles.mine.extends=vllm', /profilesConfigMap: with profiles there would be two/],
  ['extraVolumes[0].name=tls,extraVolumes[0].emptyDir.medium=Memory', /extraVolumes: there is a volume tls already/],
  [
    'extraVolumes[0].name=a,extraVolumes[0].emptyDir.medium=Memory,extraVolumes[1].name=a,extraVolumes[1].emptyDir.medium=Memory',
    /extraVolumes: there is a volume a already/,
  ],
  ['extraVolumeMounts[0].name=a,extraVolumeMounts[0].mountPath=/a', /extraVolumeMounts: a is not in extraVolumes/],
  [
    'extraVolumes[0].name=a,extraVolumes[0].emptyDir.medium=Memory,extraVolumeMounts[0].name=a,extraVolumeMounts[0].mountPath=/profiles/',
    /extraVolumeMounts: there is something at \/profiles already/,
  ],
  [
    '{"topologySpreadConstraints":[{"maxSkew":1,"topologyKey":"zone","whenUnsatisfiable":"DoNotSchedule"},{"maxSkew":2,"topologyKey":"zone","whenUnsatisfiable":"DoNotSchedule"}]}',
    /topologySpreadConstraints: zone, DoNotSchedule is there twice/,
  ],
  ['webSocket.enabled=true,gateway.create=false', /webSocket\.forwardTo: say where pods reach the gateway/],
  [
    'webSocket.enabled=true,gateway.kind=none,networkPolicy.enabled=false',
    /webSocket\.forwardTo: say where pods reach the gateway/,
  ],
  [
    'webSocket.enabled=true,gateway.tlsSecretName=certificate',
    /webSocket\.forwardTo: say where pods reach the gateway/,
  ],
  ['gateway.kind=none,monitoring.podMonitor.enabled=true', /monitoring\.podMonitor: with gateway\.kind=none/],
  ['tls.secretName=tls', /tls\.secretName: leave it empty under Istio/],
  ['gateway.auth.jwt.jwksUri=https://issuer.example/keys', /gateway\.auth\.jwt: jwksUri needs issuer/],
  ['gateway.kind=envoy-gateway,gateway.istio.mesh=ambient', /gateway\.istio\.mesh: needs gateway\.kind=istio/],
  ['serviceAccount.create=false', /serviceAccount\.name: with create=false, say which one/],
  [
    'serviceAccount.create=false,serviceAccount.name=x,serviceAccount.annotations.a=b',
    /serviceAccount\.annotations: with create=false/,
  ],
  ['strategy.rollingUpdate.maxSurge=0', /strategy\.rollingUpdate: .* no pod could ever be replaced/],
  ['commonLabels.a=b,podLabels.a=c', /podLabels: a is one of commonLabels already/],
  ['networkPolicy.egress[0].ports[0].port=4318', /networkPolicy\.egress: no rule lets DNS through/],
  [`gateway.kind=none,networkPolicy.enabled=false,${hosted(0)}`, /gateway\.upstreams: with gateway\.kind=none/],
  [`${hosted(0)},${hosted(1, { name: 'a', 'models[0]': 'm' })}`, /gateway\.upstreams: a is there twice/],
  [hosted(0, { 'tls.enabled': 'false', 'tls.caSecret': 'ca' }), /gateway\.upstreams: a: tls needs tls\.enabled=true/],
  [upstream(0, { 'service.name': 's', 'tls.enabled': 'true' }), /gateway\.upstreams: a: .* needs tls\.sni/],
  [hosted(0, { 'tls.enabled': 'false', 'apiKey.name': 'key' }), /upstreams: a: apiKey would leave the cluster/],
  ...[
    ...['host', 'content-length', 'content-type', 'connection', 'transfer-encoding', 'te', 'upgrade', 'cdn-loop'],
    'x-gateway-model-name',
  ].map(
    (header) =>
      [
        hosted(0, { 'apiKey.name': 'key', 'apiKey.header': header }),
        RegExp(`apiKey\\.header: ${header} is not`),
      ] as const,
  ),
  [
    `gateway.kind=envoy-gateway,${hosted(0, { 'apiKey.name': 'key', 'apiKey.key': 'token' })}`,
    /apiKey\.key: Envoy Gateway reads only the key credential of a Secret/,
  ],
  [hosted(0, { 'apiKey.secretName': 'key' }), /apiKey\/secretName': value must be 'under the name name/],
  [`gateway.create=false,${hosted(0, { 'apiKey.name': 'key' })}`, /apiKey needs a Gateway of the chart's own/],
  [
    upstream(0, {
      'service.name': 's',
      'service.namespace': 'n',
      'tls.enabled': 'true',
      'tls.sni': 'a.b',
      'tls.caSecret': 'ca',
    }),
    /tls\.caSecret is read in the namespace of the Gateway/,
  ],
  [hosted(0, { profile: 'skynet' }), /gateway\.upstreams: a: profile: skynet is none of generic, /],
  [`${hosted(0)},${hosted(1, { default: 'true', 'models[0]': 'm' })}`, /upstreams: b: .* leave its models out/],
  [`${hosted(0)},${hosted(1)}`, /gateway\.upstreams: exactly one .* here it is a and b/],
  [`${hosted(0, { 'models[0]': 'm' })},${hosted(1, { 'models[0]': 'n' })}`, /exactly one .* here it is none/],
  [`config.UPSTREAM_PROFILE=vllm,${hosted(0, { profile: 'openai' })}`, /config\.UPSTREAM_PROFILE: .* says it of a/],
  [
    [hosted(0), hosted(1, { 'models[0]': 'm*' }), hosted(2, { 'models[0]': 'mn' })].join(','),
    /gateway\.upstreams: c and b both serve mn/,
  ],
  [
    `${hosted(0)},${hosted(1, { host: '0.example.com', 'models[0]': 'm' })}`,
    /two lead to 0\.example\.com:443, which has one cluster under Istio/,
  ],
  [
    `gateway.kind=envoy-gateway,${hosted(0)},${hosted(1, { profile: 'openai', 'models[0]': 'm' })}`,
    /-b has another profile or path .*patchPolicy=true/,
  ],
  [
    `gateway.kind=envoy-gateway,${hosted(0, { 'apiKey.name': 'key' })},${hosted(1, { 'models[0]': 'm' })}`,
    /-a is one of several, to whose key Envoy Gateway can add its scheme only with .*patchPolicy=true/,
  ],
  [
    [
      ...[hosted(0), hosted(1, { 'models[0]': 'm' }), hosted(2, { 'models[0]': 'n' })],
      `gateway.routes={${Array.from({ length: 43 }, (_, index) => `/${index}`).join(',')}}`,
    ].join(','),
    /gateway\.routes: each is a match for each of gateway\.upstreams/,
  ],
];

/** Values that are just within what the chart refuses: all of them render. */
export const accepted: readonly string[] = [
  'maxRequestMiB=23',
  'heapMiB=716',
  'autoscaling.maxReplicas=2',
  'resources.limits.cpu=1000m',
  'terminationGracePeriodSeconds=617',
  'monitoring.serviceMonitor.scrapeTimeout=15s',
  'gateway.messageTimeout=60m',
  'gateway.streamIdleTimeout=5m1ms',
  'config.MAX_TOOLS=100000',
  'config.MAX_TOOLS=1',
  'extraEnv[0].name=OTEL_EXPORTER_OTLP_HEADERS,extraEnv[0].value=a=b',
  'extraEnv[0].name=CATALOG_ENDPOINT,extraEnv[0].value=http://catalog',
  'networkPolicy.egress[0].ports[0].port=53',
  'gateway.allowedRoutes.namespaces.from=Selector,gateway.allowedRoutes.namespaces.selector.matchLabels.a=b',
  'webSocket.enabled=true,webSocket.forwardTo=https://gateway/v1',
  'commonLabels.a=b,podLabels.c=d',
  'extraContainers[0].name=a,extraContainers[0].image=x,initContainers[0].name=b,initContainers[0].image=x',
  '{"lifecycle":{"preStop":{"httpGet":{"port":"admin-9"}}}}',
  'strategy.rollingUpdate.maxSurge=0,strategy.rollingUpdate.maxUnavailable=1',
  'image.registry=mirror.example.com,image.repository=team/image',
  'gateway.routes={/v1/responsesx,/v1/conversations-of-ours}',
  [
    ...[hosted(0), hosted(1, { 'models[0]': 'm' }), hosted(2, { 'models[0]': 'n*' }), hosted(3, { 'models[0]': 'o' })],
    `gateway.routes={${Array.from({ length: 32 }, (_, index) => `/${index}`).join(',')}}`,
  ].join(','),
];

/** Helm's arguments for one of them. */
export function argumentsOf(values: string): readonly string[] {
  const gateway = values.startsWith('gateway.kind') ? [] : ['--set', 'gateway.kind=istio'];
  if (!values.startsWith('{')) return [...gateway, '--set', values];
  const fields = Object.entries(JSON.parse(values) as Record<string, unknown>);
  return [...gateway, ...fields.flatMap(([name, value]) => ['--set-json', `${name}=${JSON.stringify(value)}`])];
}
