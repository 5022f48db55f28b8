import { expect, test } from 'vitest';
import type { EnvoyBinary } from '../../mesh/envoy-binary.ts';
import { findFreePort } from '../../mesh/ports.ts';
import { addEndpoint, untilHealthy } from './envoy-clusters.ts';
import { failures, startFailingReplica, untilMet } from './failing-replica.ts';
import { startLoad } from './load.ts';
import { startTestMesh } from './mesh.ts';
import { startServiceProcess } from './service-process.ts';
import { completion } from './upstream.ts';

const failed = { error: { type: 'server_error', code: 'upstream_unavailable' } };

/** The tests of what an Envoy does when a replica of the service dies. They must pass with every version. */
export function testDeadReplicas(envoy: () => EnvoyBinary): void {
  test('replicas that are killed under load take with them what they had accepted, and no later request', async () => {
    const port = await findFreePort();
    const mesh = await startTestMesh({
      envoy: envoy(),
      concurrency: 2,
      edit: (config) => addEndpoint(config, 'responses_extproc', { host: '127.0.0.1', port }),
    });
    const start = () => startServiceProcess({ LISTEN: `127.0.0.1:${port}` });
    let second = await start();
    try {
      for (let round = 0; round < 3; round += 1) {
        await untilHealthy(mesh.admin, 2);
        const load = startLoad(mesh, 8);
        await load.sent(100);
        const inFlight = load.inFlight();
        second.child.kill('SIGKILL');
        await second.child.ended;
        await load.sent(300);
        const results = await load.stop();
        expect(results.filter(({ ok, id }) => !ok && !inFlight.has(id))).toEqual([]);
        // Those that fail had reached the upstream, or their answer had begun; they end with an error in the API's format.
        for (const { ok, answer } of results)
          if (!ok && answer.status !== 200) expect(answer.body).toMatchObject(failed);
        second = await start();
      }
      expect(await mesh.service.metric('responses_extproc_exchanges_total')).toBeGreaterThan(300);
    } finally {
      await second.remove();
      await mesh.close();
    }
  });

  test.each(Object.keys(failures) as (keyof typeof failures)[])(
    'a replica that %s before it has answered costs no request, and none is sent twice',
    async (how) => {
      const bad = await startFailingReplica(failures[how]);
      const mesh = await startTestMesh({
        envoy: envoy(),
        edit: (config) => addEndpoint(config, 'responses_extproc', { host: '127.0.0.1', port: bad.port }),
      });
      try {
        await untilHealthy(mesh.admin, 2);
        mesh.upstream.script('json', { body: [completion({ content: 'Hi' })] });
        const input = 'A long prompt. '.repeat(20_000); // several of Envoy's pieces
        const sent = await untilMet(bad, async (n) => {
          const answer = await mesh.post({ model: 'json', input });
          expect([n, answer.status]).toEqual([n, 200]);
          await answer.text();
        });
        expect(mesh.upstream.received('json').map((request) => request.json().messages)).toEqual(
          Array.from({ length: sent }, () => [{ role: 'user', content: input }]),
        );
      } finally {
        await mesh.close();
        await bad.close();
      }
    },
  );
}
