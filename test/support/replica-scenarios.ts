import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { EnvoyBinary } from '../../tools/mesh/envoy-binary.ts';
import { anyFreePort } from '../../tools/mesh/ports.ts';
import { addEndpoint, untilHealthy } from './envoy-clusters.ts';
import { failures, startFailingReplica, untilMet } from './failing-replica.ts';
import { startTestMesh, type TestMesh } from './mesh.ts';
import { startServiceProcess } from './service-process.ts';
import { completion, delta, done, eventStream, finish } from './upstream.ts';

const failed = { error: { type: 'server_error', code: 'upstream_unavailable' } };

/** The tests of what an Envoy does when a replica of the service dies. They must pass with every version. */
export function testDeadReplicas(envoy: () => EnvoyBinary): void {
  test('replicas that are killed under load take with them what they had accepted, and no later request', async () => {
    const port = await anyFreePort();
    const mesh = await startTestMesh({
      envoy: envoy(),
      concurrency: 2,
      edit: (config) => addEndpoint(config, 'responses_extproc', { host: '127.0.0.1', port }),
    });
    const start = () => startServiceProcess({ LISTEN: `127.0.0.1:${port}` });
    let second = await start();
    try {
      mesh.upstream.script('json', { body: [completion({ content: 'Hi' })] });
      mesh.upstream.script('sse', {
        headers: eventStream,
        body: [delta({ content: 'Hi' }), 5, delta({ content: '!' }), finish('stop'), done],
      });
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

interface Result {
  readonly id: number;
  /** It was answered in full. */
  readonly ok: boolean;
  readonly answer: { readonly status: number; readonly body: unknown };
}

/** `clients` that send one request after another, alternating JSON and streams, until they are stopped. */
function startLoad(mesh: TestMesh, clients: number) {
  const results: Result[] = [];
  const begun = new Set<number>();
  let stopped = false;
  let next = 0;

  async function send(id: number): Promise<Result> {
    const stream = id % 2 === 1;
    const response = await mesh.post({ model: stream ? 'sse' : 'json', input: `${id}`, stream });
    try {
      const text = await response.text();
      const whole = stream ? text.includes('event: response.completed\n') : text.includes('"status":"completed"');
      const body = response.status === 200 ? null : JSON.parse(text);
      return { id, ok: response.status === 200 && whole, answer: { status: response.status, body } };
    } catch {
      return { id, ok: false, answer: { status: response.status, body: 'broken off' } };
    }
  }
  const running = Promise.all(
    Array.from({ length: clients }, async () => {
      while (!stopped) {
        const id = next++;
        begun.add(id);
        results.push(await send(id));
        begun.delete(id);
      }
    }),
  );
  return {
    /** Resolves when that many more requests have ended. */
    async sent(count: number): Promise<void> {
      for (const from = results.length; results.length < from + count; ) await sleep(5);
    },
    inFlight: (): ReadonlySet<number> => new Set(begun),
    async stop(): Promise<readonly Result[]> {
      stopped = true;
      await running;
      return results;
    },
  };
}
