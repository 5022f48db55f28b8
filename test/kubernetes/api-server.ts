import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { findFreePort } from '../../mesh/ports.ts';
import { type Child, startChild } from '../../mesh/processes.ts';
import type { KubernetesObject } from './manifests.ts';
import { toolPath } from './tools.ts';

/** A Kubernetes API server with its own etcd and no controllers: it validates and stores objects. */
export interface ApiServer {
  /** `v1.37.2` */
  readonly version: string;
  /** A file with which programs in Go find it (`KUBECONFIG`). */
  readonly kubeconfig: string;
  /**
   * Creates an object, or validates it as a server-side dry run (`dryRun`). Unknown fields are errors. Resolves with null, or
   * with the server's error message.
   */
  create(object: KubernetesObject, options?: { dryRun?: boolean }): Promise<string | null>;
  /** The object as the server has it, by its kind and name; null where there is none. */
  find(object: KubernetesObject, namespace: string): Promise<KubernetesObject | null>;
  /** Gives an object its status, which `create` ignores; what a controller or a kubelet does. Resolves as `create` does. */
  setStatus(object: KubernetesObject): Promise<string | null>;
  /** Waits until the server serves a kind that a CustomResourceDefinition defines. */
  untilKnown(apiVersion: string, kind: string): Promise<void>;
  close(): Promise<void>;
}

/** Starts both on free ports; resolves when the server is ready. */
export async function startApiServer(): Promise<ApiServer> {
  const folder = mkdtempSync(join(tmpdir(), 'responses-extproc-kubernetes-'));
  const [client, peer, port] = [await findFreePort(), await findFreePort(), await findFreePort()];
  const token = 'for-this-run';
  const key = join(folder, 'service-accounts.key');
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  writeFileSync(key, privateKey.export({ type: 'pkcs1', format: 'pem' }));
  const tokens = join(folder, 'tokens.csv');
  writeFileSync(tokens, `${token},admin,admin,system:masters\n`);

  const store = `http://127.0.0.1:${client}`;
  const between = `http://127.0.0.1:${peer}`;
  const output: string[] = [];
  const onLine = (line: string) => output.push(line);
  const etcd = startChild(
    'etcd',
    toolPath('etcd'),
    [
      ...['--data-dir', join(folder, 'etcd'), '--unsafe-no-fsync', '--initial-cluster', `default=${between}`],
      ...['--listen-client-urls', store, '--advertise-client-urls', store],
      ...['--listen-peer-urls', between, '--initial-advertise-peer-urls', between],
    ],
    { onLine },
  );
  const server = startChild(
    'kube-apiserver',
    toolPath('kube-apiserver'),
    [
      ...['--etcd-servers', store, '--bind-address', '127.0.0.1', '--secure-port', `${port}`],
      ...['--cert-dir', folder, '--token-auth-file', tokens, '--authorization-mode', 'AlwaysAllow'],
      ...['--service-account-issuer', 'https://kubernetes.test', '--service-account-key-file', key],
      ...['--service-account-signing-key-file', key, '--service-cluster-ip-range', '10.96.0.0/16'],
      // No controllers run that would give each namespace its service account.
      ...['--disable-admission-plugins', 'ServiceAccount'],
    ],
    { onLine, graceMs: 10_000 },
  );
  const ask = (method: string, path: string, body?: unknown) =>
    askServer({ port, token, method, path, body: body === undefined ? '' : JSON.stringify(body) });

  await untilReady([etcd, server], output, async () => (await ask('GET', '/readyz')).status === 200);
  const { gitVersion } = JSON.parse((await ask('GET', '/version')).body) as { gitVersion: string };

  const resources = new Map<string, { name: string; namespaced: boolean }>();
  async function resourceOf(apiVersion: string, kind: string) {
    const known = resources.get(`${apiVersion} ${kind}`);
    if (known !== undefined) return known;
    const group = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
    const answer = await ask('GET', group);
    if (answer.status !== 200) return undefined;
    const list = JSON.parse(answer.body) as { resources: { name: string; kind: string; namespaced: boolean }[] };
    for (const resource of list.resources)
      if (!resource.name.includes('/')) resources.set(`${apiVersion} ${resource.kind}`, resource);
    return resources.get(`${apiVersion} ${kind}`);
  }

  /** The path of the objects of its kind; null where the server does not know that. */
  async function addressOf({ apiVersion, kind, metadata }: KubernetesObject): Promise<string | null> {
    const resource = await resourceOf(apiVersion, kind);
    if (resource === undefined) return null;
    const group = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
    return `${group}${resource.namespaced ? `/namespaces/${metadata.namespace ?? 'llm'}` : ''}/${resource.name}`;
  }

  /** Sends an object to the address of its kind, or to what follows that. Resolves as `create` does. */
  async function send(method: string, object: KubernetesObject, rest: string): Promise<string | null> {
    const address = await addressOf(object);
    if (address === null) return `the server does not know ${object.apiVersion} ${object.kind}`;
    const answer = await ask(method, `${address}${rest}`, object);
    return answer.status < 300 ? null : (JSON.parse(answer.body) as { message: string }).message;
  }

  const kubeconfig = join(folder, 'kubeconfig');
  writeFileSync(kubeconfig, JSON.stringify(kubeconfigOf(`https://127.0.0.1:${port}`, token)));

  return {
    version: gitVersion,
    kubeconfig,
    create: (object, { dryRun = false } = {}) =>
      send('POST', object, `?fieldValidation=Strict${dryRun ? '&dryRun=All' : ''}`),
    async find({ apiVersion, kind, metadata }, namespace) {
      const answer = await ask(
        'GET',
        `${await addressOf({ apiVersion, kind, metadata: { ...metadata, namespace } })}/${metadata.name}`,
      );
      return answer.status === 200 ? JSON.parse(answer.body) : null;
    },
    setStatus: (object) => send('PUT', object, `/${object.metadata.name}/status?fieldValidation=Strict`),
    async untilKnown(apiVersion, kind) {
      await untilReady([server], output, async () => (await resourceOf(apiVersion, kind)) !== undefined);
    },
    async close() {
      await server.stop();
      await etcd.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function kubeconfigOf(server: string, token: string): object {
  const named = { name: 'test' };
  return {
    ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'test' },
    clusters: [{ ...named, cluster: { server, 'insecure-skip-tls-verify': true } }],
    users: [{ ...named, user: { token } }],
    contexts: [{ ...named, context: { cluster: 'test', user: 'test' } }],
  };
}

async function untilReady(children: readonly Child[], output: readonly string[], ready: () => Promise<boolean>) {
  let ended: string | undefined;
  for (const child of children)
    child.ended.then((how) => {
      ended = `${child.name} ended (${how})`;
    });
  while (!(await ready().catch(() => false))) {
    if (ended !== undefined) throw new Error(`${ended}:\n${output.slice(-30).join('\n')}`);
    await sleep(100);
  }
}

interface Question {
  readonly port: number;
  readonly token: string;
  readonly method: string;
  readonly path: string;
  readonly body: string;
}

/** The server makes its own certificate, which nobody else signs. */
function askServer({ port, token, method, path, body }: Question): Promise<{ status: number; body: string }> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  // A connection of its own: the server closes a kept one that was idle while this process waited for a tool.
  const options = { host: '127.0.0.1', port, path, method, headers, agent: false, rejectUnauthorized: false };
  return new Promise((resolve, reject) => {
    request(options, async (response) => {
      let text = '';
      for await (const piece of response) text += piece;
      resolve({ status: response.statusCode ?? 0, body: text });
    })
      .once('error', reject)
      .end(body);
  });
}
