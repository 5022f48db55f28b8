import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { findFreePort } from '../../mesh/ports.ts';
import { startChild } from '../../mesh/processes.ts';
import { type ApiServer, startApiServer } from './api-server.ts';
import { type KubernetesObject, parseObjects } from './manifests.ts';
import type { SocketEndpoint } from './static-envoy.ts';
import { moduleFolder, toolPath } from './tools.ts';

/**
 * The endpoint picker of the Gateway API Inference Extension, on a real API server; or the one in PICKER, such as that of
 * llm-d-router, which has gone on with it.
 */
export interface EndpointPicker {
  readonly grpc: SocketEndpoint;
  close(): Promise<void>;
}

/**
 * Starts an API server with the InferencePool `models` and a ready pod of it for each model server, and the picker on that.
 * Resolves when the picker knows all of them. What a kubelet reports of a pod, its address and that it is ready, is written
 * to the API.
 */
export async function startEndpointPicker(
  pool: KubernetesObject,
  servers: readonly SocketEndpoint[],
): Promise<EndpointPicker> {
  const api = await startApiServer();
  const closing: (() => Promise<void>)[] = [() => api.close()];
  const close = async () => {
    for (const end of closing.toReversed()) await end();
  };
  try {
    await createPool(api, pool, servers);
    const [grpc, health, metrics] = [await findFreePort(), await findFreePort(), await findFreePort()];
    const output: string[] = [];
    const child = startChild(
      'epp',
      process.env['PICKER'] ?? toolPath('epp'),
      [
        ...['--pool-name', pool.metadata.name, '--pool-namespace', 'llm', '--secure-serving=false'],
        ...['--grpc-port', `${grpc}`, '--grpc-health-port', `${health}`, '--metrics-port', `${metrics}`],
        ...['--tracing=false', '--metrics-endpoint-auth=false', '--enable-pprof=false'],
      ],
      { environment: { ...process.env, KUBECONFIG: api.kubeconfig }, onLine: (line) => output.push(line) },
    );
    closing.push(() => child.stop());
    let ended: string | undefined;
    void child.ended.then((how) => {
      ended = how;
    });
    const known = `inference_pool_ready_pods{name="${pool.metadata.name}"} ${servers.length}`;
    const page = () => fetch(`http://127.0.0.1:${metrics}/metrics`).then((answer) => answer.text());
    while (!(await page().catch(() => '')).includes(known)) {
      if (ended !== undefined) throw new Error(`The picker ended (${ended}):\n${output.slice(-30).join('\n')}`);
      await sleep(100);
    }
    return { grpc: { address: '127.0.0.1', port: grpc }, close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function createPool(api: ApiServer, pool: KubernetesObject, servers: readonly SocketEndpoint[]): Promise<void> {
  const create = async (object: KubernetesObject) => {
    const error = await api.create(object);
    if (error !== null) throw new Error(`${object.kind} ${object.metadata.name}: ${error}`);
  };
  await create(inferencePoolDefinition());
  await create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'llm' } });
  await api.untilKnown(pool.apiVersion, pool.kind);
  const [port] = servers.map((server) => server.port);
  await create({ ...pool, spec: { ...pool.spec, targetPorts: [{ number: port }] } });
  for (const [index, { address }] of servers.entries()) {
    const pod: KubernetesObject = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: `models-${index}`, namespace: 'llm', labels: pool.spec.selector.matchLabels },
      spec: { containers: [{ name: 'server', image: 'model-server' }] },
    };
    await create(pod);
    const conditions = [{ type: 'Ready', status: 'True' }];
    const status = { phase: 'Running', podIP: address, podIPs: [{ ip: address }], conditions };
    const error = await api.setStatus({ ...pod, status });
    if (error !== null) throw new Error(`status of pod ${pod.metadata.name}: ${error}`);
  }
}

/** The definition of InferencePools, of the picker's own version. */
function inferencePoolDefinition(): KubernetesObject {
  const module = moduleFolder(join(import.meta.dirname, 'picker'), 'sigs.k8s.io/gateway-api-inference-extension');
  const file = join(module, 'config/crd/bases/inference.networking.k8s.io_inferencepools.yaml');
  const [definition] = parseObjects(readFileSync(file, 'utf8'));
  if (definition === undefined) throw new Error(`${file} has no object`);
  return definition;
}
