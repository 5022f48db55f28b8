import { describe, expect, test } from 'vitest';
import { residentMiB } from '../support/memory.ts';
import { slowClients } from '../support/slow-clients.ts';
import { completion } from '../support/upstream.ts';
import { configurationOf, type RunningGateway, render, withGateway } from './gateways.ts';
import { objectOf } from './manifests.ts';

const post = ({ url }: RunningGateway, body: object) =>
  fetch(`${url}/v1/responses`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });

describe('a client that never reads', () => {
  test.each([
    ['envoy-gateway', ['gateway.envoyGateway.patchPolicy=true']],
    ['istio', []],
  ] as const)('costs the Envoy of %s less than 4 MiB, and large requests pass', async (kind, settings) => {
    const configuration = configurationOf(kind, ...settings);
    await withGateway(configuration, async (gateway) => {
      const { url, envoy, chat } = gateway;
      const clients = slowClients(url, chat);
      await clients.open(10);
      const few = residentMiB(envoy.child.pid);
      const more = 40;
      await clients.open(more);
      const each = (residentMiB(envoy.child.pid) - few) / more;
      console.log(`A client that never reads, ${kind}: ${each.toFixed(1)} MiB in Envoy`);
      expect(each).toBeLessThan(4);

      chat.script('json', { body: [completion({ content: 'Hi' })] });
      const text = 'x'.repeat(9_000_000);
      const content = [1, 2].map(() => ({ type: 'input_text', text }));
      expect((await post(gateway, { model: 'json', input: [{ role: 'user', content }] })).status).toBe(200);
      clients.close();
    });
  });
});

describe('a proxy’s memory has a limit', () => {
  test('under Envoy Gateway, which sets up the overload manager for it', () => {
    const { spec } = objectOf(render('gateway.kind=envoy-gateway'), 'EnvoyProxy');
    expect(spec.provider.kubernetes.envoyDeployment.container.resources.limits).toEqual({ memory: '2Gi' });
  });

  test('under Istio, whose agent adds it to the bootstrap: Envoy refuses requests in words, and lives', async () => {
    const memory = ['requests', 'limits'].map((name) => `gateway.istio.resources.${name}.memory=4Mi`);
    const settings = ['gateway.kind=istio', ...memory];
    const overload = objectOf(render(...settings), 'ConfigMap', 'responses-extproc-overload');
    const configYaml = overload.data?.['bootstrap.yaml'];
    await withGateway(
      configurationOf('istio'),
      async (gateway) => {
        const ask = () => post(gateway, { model: 'json', input: 'Hi' });
        await expect.poll(async () => (await ask()).status).toBe(503);
        expect(await (await ask()).json()).toMatchObject({
          error: { type: expect.any(String), message: expect.any(String) },
        });
        expect(await gateway.envoy.admin('/ready')).toContain('LIVE');
      },
      { configYaml },
    );
  });
});
