import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readVersions } from '../../scripts/generate/publication.ts';
import { type ApiServer, startApiServer } from './api-server.ts';
import { createDefinitions } from './definitions.ts';
import { environmentOf, type KubernetesObject, objectOf, parseObjects } from './manifests.ts';
import { runTool, type Tool } from './tools.ts';

const root = join(import.meta.dirname, '../..');
const folder = join(import.meta.dirname, 'former-charts');
const former = readdirSync(folder).map((name) => name.replace(/\.tgz$/, ''));
const gone = ['HTTPRoute responses-extproc-models']; // its paths are in `responses-extproc-untouched` and `responses-extproc`
/** What the upgrade notes say of a chart: values that it had no name for. */
const asNoted: Readonly<Record<string, readonly string[]>> = {
  'before-0.1.0': [
    ...['--set', 'gateway.routes={/v1/models,/v1/chat/completions}'],
    // And those that have another name since.
    ...['replicas', 'autoscaling.cpuPercent', 'autoscaling.activeExchanges', 'gateway.envoyGateway.replicas'].flatMap(
      (name) => ['--set', `${name}=null`],
    ),
  ],
};

let server: ApiServer;
beforeAll(async () => {
  server = await startApiServer();
  await createDefinitions(server);
});
afterAll(() => server?.close());

test('the chart of every version before this one is here to upgrade from', () => {
  const [, ...released] = readVersions(readFileSync(join(root, 'CHANGELOG.md'), 'utf8'));
  expect(former).toEqual(expect.arrayContaining(released.map(({ version }) => version)));
  expect(former).not.toEqual([]);
});

const cases = former.flatMap((version) =>
  (['envoy-gateway', 'istio'] as const).flatMap((kind) =>
    (['helm', 'helm3'] as const).map((helm) => [version, kind, helm] as const),
  ),
);

describe.each(cases)('from the chart %s with gateway.kind=%s, by %s', (version, kind, helm) => {
  const namespace = [version, kind, helm].join('-').replaceAll('.', '-');
  const run = (tool: Tool, ...args: readonly string[]) =>
    runTool(tool, [...args, '--namespace', namespace], { environment: { KUBECONFIG: server.kubeconfig } });
  const objects = () => parseObjects(run(helm, 'get', 'manifest', 'responses-extproc'));

  test('an upgrade that keeps the values keeps what was set, every object and its name; a rollback leads back', async () => {
    const { create, find } = server;
    expect(await create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } })).toBeNull();
    const set = [
      '--set',
      `gateway.kind=${kind}`,
      '--set',
      'config.UPSTREAM_PROFILE=vllm',
      '--set',
      'drain.timeoutSeconds=60',
    ];
    run(helm, 'install', 'responses-extproc', join(folder, `${version}.tgz`), ...set);
    const before = objects();
    const live = await Promise.all(before.map((object) => find(object, namespace)));
    expect(live).not.toContain(null);

    run(
      helm,
      'upgrade',
      'responses-extproc',
      join(root, 'deploy/chart'),
      '--reuse-values',
      ...(asNoted[version] ?? []),
    );
    const after = objects();
    expect(namesOf(after)).toEqual(expect.arrayContaining(namesOf(before).filter((name) => !gone.includes(name))));
    for (const object of after) {
      // The very objects: one that is deleted and made again leaves a gap.
      const found = await find(object, namespace);
      const was = live.find((one) => one?.kind === object.kind && one.metadata.name === object.metadata.name);
      expect(found, `${object.kind} ${object.metadata.name}`).not.toBeNull();
      if (was !== undefined) expect(found?.metadata.uid).toBe(was?.metadata.uid);
    }
    expect(objectOf(after, 'Gateway').spec.gatewayClassName).toBe(objectOf(before, 'Gateway').spec.gatewayClassName);
    expect(environmentOf(objectOf(after, 'Deployment'))).toMatchObject({
      UPSTREAM_PROFILE: 'vllm',
      DRAIN_TIMEOUT_MS: '60000',
    });

    run(helm, 'rollback', 'responses-extproc', '1');
    expect(objects()).toEqual(before);
    for (const object of before) expect(await find(object, namespace)).not.toBeNull();
    for (const object of after)
      if (!namesOf(before).includes(nameOf(object))) expect(await find(object, namespace)).toBeNull();
    run(helm, 'uninstall', 'responses-extproc');
  });
});

function namesOf(objects: readonly KubernetesObject[]): string[] {
  return objects.map(nameOf);
}

function nameOf({ kind, metadata }: KubernetesObject): string {
  return `${kind} ${metadata.name}`;
}
