import { spawn } from 'node:child_process';
import { expect } from 'vitest';
import { type EnvoyBinary, findEnvoy } from '../../mesh/envoy-binary.ts';
import { findFreePort } from '../../mesh/ports.ts';
import { renderChart } from '../../scripts/generate/kubernetes-render.ts';
import type { ServiceProcess } from '../support/service-process.ts';
import { type ScriptedUpstream, startScriptedUpstream } from '../support/upstream.ts';
import { type Translated, translateForEnvoyGateway } from './envoy-gateway.ts';
import { type IstioGateway, translateForIstio, withoutIstiosOwn } from './istio.ts';
import { environmentOf, type KubernetesObject, objectOf, parseObjects } from './manifests.ts';
import { createPods } from './pods.ts';
import {
  type ControlPlane,
  type SocketEndpoint,
  type StaticEnvoy,
  type StaticEnvoyOptions,
  startStaticEnvoy,
} from './static-envoy.ts';

/** The two gateways that the chart makes configuration for. */
export const gatewayKinds = ['envoy-gateway', 'istio'] as const;
export type GatewayKind = (typeof gatewayKinds)[number];

/** What a gateway's control plane makes of the chart. */
export interface GatewayConfiguration {
  readonly controlPlane: ControlPlane;
  /** Name of the service's cluster. */
  readonly service: string;
  /** Name of the cluster of its port for WebSockets, which is there with `webSocket.enabled`. */
  readonly webSocket: string;
  /** Where other clusters lead, if not to the Chat server. */
  readonly endpoints?: Readonly<Record<string, readonly SocketEndpoint[]>>;
  /** The contents of the secrets that it would send. */
  readonly secrets?: NonNullable<StaticEnvoyOptions['secrets']>;
  /** Which port Envoy's health checks go to. */
  readonly checks: 'grpc' | 'admin';
  /** What the Deployment sets. */
  readonly environment: Readonly<Record<string, string>>;
}

/** The Chat server's Service, which the chart does not make. */
export const chatService = parseObjects(`
apiVersion: v1
kind: Service
metadata: { name: llm }
spec: { ports: [{ name: http, port: 8000 }] }
`);

/** The chart's objects with these values (`gateway.port=8080`). */
export function render(...settings: readonly string[]): KubernetesObject[] {
  return renderChart(settings.flatMap((setting) => ['--set', setting])).flatMap(({ text }) => parseObjects(text));
}

/** The chart with these values, as this gateway's control plane translates it. */
export function configurationOf(kind: GatewayKind, ...settings: readonly string[]): GatewayConfiguration {
  const objects = render(`gateway.kind=${kind}`, ...settings);
  return configurationFrom(kind, kind === 'istio' ? objects : [...objects, ...chatService]);
}

/** What this gateway's control plane makes of objects, among them the chart's. */
export function configurationFrom(kind: GatewayKind, objects: readonly KubernetesObject[]): GatewayConfiguration {
  const environment = environmentOf(objectOf(objects, 'Deployment'));
  return kind === 'istio'
    ? ofIstio(translateForIstio(objects), environment)
    : ofEnvoyGateway(translateForEnvoyGateway(objects), environment);
}

export function ofEnvoyGateway(
  translated: Translated,
  environment: GatewayConfiguration['environment'],
): GatewayConfiguration {
  const listener = translated.listeners.find(({ name }) => /^(llm|ingress)\/\w+\/https?$/.test(name));
  const [routes] = translated.routes;
  if (listener === undefined || routes === undefined) throw new Error('no listener with routes');
  const { bootstrap, clusters } = translated;
  return {
    controlPlane: { listener, routes, clusters, bootstrap },
    service: clusters.find(({ name }) => /^envoyextensionpolicy\/.*\/extproc\/0$/.test(name))?.['name'],
    webSocket: 'httproute/llm/responses-extproc-websocket/rule/0',
    checks: 'admin',
    environment,
  };
}

export function ofIstio(gateway: IstioGateway, environment: GatewayConfiguration['environment']): GatewayConfiguration {
  const { listeners, routes: configs, clusters, bootstrap } = withoutIstiosOwn(gateway);
  const [listener] = listeners;
  const [routes] = configs;
  if (listener === undefined || routes === undefined) throw new Error('no listener with routes');
  return {
    controlPlane: { listener, routes, clusters, bootstrap },
    service: 'outbound|50051||responses-extproc.llm.svc.cluster.local',
    webSocket: 'outbound|50052||responses-extproc.llm.svc.cluster.local',
    checks: 'grpc',
    environment,
  };
}

export interface RunningGateway {
  readonly url: string;
  readonly envoy: StaticEnvoy;
  readonly pod: ServiceProcess;
  readonly chat: ScriptedUpstream;
}

/** A real Envoy on a gateway's configuration, one pod of the service that it finds healthy, and a scripted Chat server; with
 * `leadsBack` its place is taken by the Envoy itself. */
export async function withGateway(
  { controlPlane, service, webSocket, endpoints, secrets, checks, environment }: GatewayConfiguration,
  run: (gateway: RunningGateway) => Promise<void>,
  {
    binary = findEnvoy(process.env),
    configYaml,
    leadsBack = false,
  }: { binary?: EnvoyBinary; configYaml?: string | undefined; leadsBack?: boolean } = {},
): Promise<void> {
  const chat = await startScriptedUpstream();
  const address = '127.0.1.1';
  const [listen, port] = [await findFreePort(), await findFreePort()];
  const pods = await createPods({
    ...environment,
    ...('WEBSOCKET_LISTEN' in environment && {
      WEBSOCKET_LISTEN: `${address}:${port}`,
      WEBSOCKET_FORWARD_TO: `http://127.0.0.1:${listen}/v1`,
    }),
  });
  let envoy: StaticEnvoy | undefined;
  try {
    const pod = await pods.start(address);
    const ports = { grpc: pods.ports.grpc, admin: checks === 'admin' ? pods.ports.admin : undefined };
    const running = await startStaticEnvoy({
      ...{ binary, controlPlane, service, ports, configYaml, ...(secrets && { secrets }) },
      ...{
        pods: [{ address }],
        upstream: leadsBack ? listen : chat.port,
        listen,
        endpoints: { ...endpoints, [webSocket]: [{ address, port }] },
      },
    });
    envoy = running;
    const healthy = new RegExp(`:${pods.ports.grpc}::health_flags::healthy`);
    await expect.poll(() => running.admin('/clusters')).toMatch(healthy);
    await run({ url: running.url, envoy: running, pod, chat });
  } finally {
    await Promise.all([envoy?.close(), pods.close(), chat.close()]);
  }
}

/** Runs what `helm test` runs of these objects, against the gateway at this address instead. Resolves with its exit code. */
export function runHelmTest(objects: readonly KubernetesObject[], base: string): Promise<number | null> {
  const [script, , ...rest] = objectOf(objects, 'Pod').spec.containers[0].args;
  return new Promise((resolve) => {
    spawn(process.execPath, ['-e', script, `${base}/v1/responses`, ...rest]).once('close', resolve);
  });
}
