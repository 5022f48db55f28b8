import { describe, expect, test } from 'vitest';
import { findEnvoy } from '../../mesh/envoy-binary.ts';
import { findConnectionManager } from '../../mesh/envoy-config.ts';
import { addEndpoint, untilHealthy } from '../support/envoy-clusters.ts';
import { failures, startFailingReplica, untilMet } from '../support/failing-replica.ts';
import { startTestMesh } from '../support/mesh.ts';
import { testDeadReplicas } from '../support/replica-scenarios.ts';
import { completion } from '../support/upstream.ts';

describe('two replicas', () => {
  testDeadReplicas(() => findEnvoy(process.env));

  // Envoy 1.36 sends the call again without what is beyond 64 KiB: envoy/README.md says to leave the policy out there.
  test('request mode FULL_DUPLEX_STREAMED: a call that has sent much is an error, never a body with holes', async () => {
    const bad = await startFailingReplica(failures['resets the stream'], { afterBytes: 60_000 });
    const mesh = await startTestMesh({
      edit(config) {
        addEndpoint(config, 'responses_extproc', { host: '127.0.0.1', port: bad.port });
        const mode = findConnectionManager(config).http_filters[0].typed_config.processing_mode;
        mode['request_body_mode'] = 'FULL_DUPLEX_STREAMED';
        mode['request_trailer_mode'] = 'SEND';
      },
    });
    try {
      await untilHealthy(mesh.admin, 2);
      mesh.upstream.script('m', { body: [completion({ content: 'Hi' })] });
      const input = Array.from({ length: 60_000 }, (_, index) => `${index}`).join(' '); // 350 kB, no two pieces alike
      const statuses: number[] = [];
      await untilMet(bad, async () => {
        const answer = await mesh.post({ model: 'm', input });
        statuses.push(answer.status);
        await answer.text();
      });
      expect(statuses.filter((status) => status === 503)).toHaveLength(bad.failed);
      expect(statuses.filter((status) => status === 200)).toHaveLength(statuses.length - bad.failed);
      for (const received of mesh.upstream.received('m'))
        expect(received.json().messages).toEqual([{ role: 'user', content: input }]);
    } finally {
      await mesh.close();
      await bad.close();
    }
  });
});
