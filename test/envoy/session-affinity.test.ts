import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { findCluster } from '../../mesh/envoy-config.ts';
import { addEndpoint } from '../support/envoy-clusters.ts';
import { startTestMesh, type TestMesh } from '../support/mesh.ts';
import { completion, type ScriptedUpstream, startScriptedUpstream } from '../support/upstream.ts';

/** The two blocks of envoy/README.md that are to be pasted: the route's and the cluster's. */
const readme = readFileSync(new URL('../../envoy/README.md', import.meta.url), 'utf8');
const chapter = readme.split('## One conversation, one upstream')[1]?.split('\n## ')[0] ?? '';
const [routeBlock, clusterBlock] = [...chapter.matchAll(/```yaml\n([^`]+)```/g)].map(([, text]) => parse(text ?? ''));

describe('two Chat servers behind consistent hashing', () => {
  let mesh: TestMesh;
  let second: ScriptedUpstream;
  beforeAll(async () => {
    second = await startScriptedUpstream();
    mesh = await startTestMesh({
      environment: { SESSION_HEADER: 'x-session-affinity' },
      edit(config) {
        addEndpoint(config, 'chat', { host: '127.0.0.1', port: second.port });
        Object.assign(findCluster(config, 'chat'), clusterBlock);
        const [manager] = config.static_resources.listeners[0].filter_chains[0].filters;
        for (const { routes } of manager.typed_config.route_config.virtual_hosts)
          for (const { route } of routes) if (route !== undefined) Object.assign(route, routeBlock);
      },
    });
    for (const upstream of [mesh.upstream, second]) upstream.script('m', { body: [completion({ content: 'Hi' })] });
  });
  afterAll(() => Promise.all([mesh.close(), second.close()]));

  test('each conversation stays with one, and both have some', async () => {
    // Envoy's hash of the thread and of the port decides: of so many, both servers have some.
    const threads = Array.from({ length: 48 }, (_, index) => `thread-${index}`);
    for (let turn = 0; turn < 3; turn++) {
      for (const thread of threads) {
        const answer = await mesh.post({ model: 'm', input: 'Hi', prompt_cache_key: thread });
        expect(answer.status).toBe(200);
        await answer.text();
      }
    }
    const served = [mesh.upstream, second].map(({ all }) =>
      all.map(({ headers }) => String(headers['x-session-affinity'])).filter((thread) => thread.startsWith('thread-')),
    );
    const [here = [], there = []] = served;
    expect(here.length + there.length).toBe(3 * 48);
    expect(new Set(here).size).toBeGreaterThan(0);
    expect(new Set(there).size).toBeGreaterThan(0);
    expect(here.filter((thread) => there.includes(thread))).toEqual([]);
  });
});
