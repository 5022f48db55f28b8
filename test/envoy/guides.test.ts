import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { type EnvoyConfig, type EnvoyRoute, findConnectionManager, findEnvoyRoute } from '../../mesh/envoy-config.ts';
import { codeBlocks } from '../../scripts/tests/readme-commands.ts';
import { putBefore } from '../support/guide-config.ts';
import { startTestMesh } from '../support/mesh.ts';
import { completion, delta, done, eventStream, finish } from '../support/upstream.ts';

const folder = join(import.meta.dirname, '../../docs/guides');
const read = (name: string) => readFileSync(join(folder, `${name}.md`), 'utf8');
const guides = globSync('*.md', { cwd: folder })
  .map((file) => file.replace('.md', ''))
  .sort();

/** The bodies that the guide's curl commands send, each with the model that a test scripts. */
function bodiesOf(guide: string, model: string): readonly Record<string, unknown>[] {
  const commands = codeBlocks(read(guide), 'sh').join('\n');
  const bodies = [...commands.matchAll(/-d '(.*?)'/g)].map(([, body = '']) => JSON.parse(body) as object);
  expect(bodies.length, `bodies in ${guide}`).toBeGreaterThan(0);
  return bodies.map((body) => ({ ...body, model }));
}

describe('every guide', () => {
  test('there are nine', () => {
    expect(guides).toHaveLength(9);
  });

  test.each(guides)('%s says for whom it is, what you should see, and what to do when it fails', (guide) => {
    const text = read(guide);
    expect(text).toMatch(/^# .+\n\nFor /);
    if (guide === 'production-checklist') return;
    expect(text).toContain('ou should see');
    expect(text).toMatch(/^## (?:If it fails|Symptoms)$/m);
    expect(codeBlocks(text, 'mermaid')).toHaveLength(1);
  });
});

test('your-own-envoy: a configuration that knew nothing of the filter translates with the routes it names, and nothing else changes', async () => {
  const minimal = parse(readFileSync(join(folder, '../../envoy/minimal.yaml'), 'utf8')) as EnvoyConfig;
  const named = ['websocket', 'responses', 'catalog'];
  expect(read('your-own-envoy')).toContain(
    `the routes ${named
      .map((name) => `\`${name}\``)
      .join(', ')
      .replace(/, (?=[^,]*$)/, ' and ')}`,
  );
  const mesh = await startTestMesh({
    edit(config) {
      // What somebody had before: everything goes to the Chat server. The filter and its clusters are as envoy.yaml has them.
      const [host] = findConnectionManager(config).route_config.virtual_hosts;
      const before = { name: 'all', match: { prefix: '/' }, route: { cluster: 'chat' } };
      const [first, ...others] = named.map((name) => findEnvoyRoute(minimal, name)) as [EnvoyRoute, ...EnvoyRoute[]];
      host.routes = [first, ...others, before];
    },
  });
  mesh.upstream.script('guide', { headers: eventStream, body: [delta({ content: 'Hello.' }), finish('stop'), done] });
  for (const body of bodiesOf('your-own-envoy', 'guide')) {
    const answer = await (await mesh.post(body)).text();
    expect(answer).toMatch(/^event: response\.created\n[\s\S]*event: response\.completed\n/);
  }
  mesh.upstream.script('list', { body: ['{"object":"list","data":[{"id":"qwen3"}]}'] });
  const list = await fetch(`${mesh.url}/v1/models?client_version=1`, { headers: { 'x-test-script': 'list' } });
  expect(await list.json()).toMatchObject({ data: [{ id: 'qwen3' }], models: [{ slug: 'qwen3' }] });
  mesh.upstream.script('untouched', { body: [completion({ content: 'Hello.' })] });
  const chat = await mesh.post({ model: 'untouched', messages: [] }, { path: '/v1/chat/completions' });
  expect(await chat.json()).toMatchObject({ object: 'chat.completion' });
  await mesh.close();
});

test('limits-and-budgets: without a key 401, with one the request passes without it, and above the limit 429', async () => {
  const [keys = '', , limit = ''] = codeBlocks(read('limits-and-budgets'), 'yaml');
  const few = limit.replace(
    /max_tokens: \d+, tokens_per_fill: \d+, fill_interval: \w+/,
    'max_tokens: 2, tokens_per_fill: 1, fill_interval: 3600s',
  );
  expect(few).not.toBe(limit);
  const mesh = await startTestMesh({ edit: (config) => putBefore(config, [keys, few]) });
  mesh.upstream.script('guide', { body: [completion({ content: 'Hello.' })] });
  const send = async (authorization?: string) =>
    (
      await mesh.post(
        { model: 'guide', input: 'Hi' },
        { headers: authorization === undefined ? {} : { authorization } },
      )
    ).status;
  expect(await send()).toBe(401);
  expect(await send('Bearer another')).toBe(401);
  expect([await send('Bearer key-of-team-a'), await send('Bearer key-of-team-b')]).toEqual([200, 200]);
  expect(await send('Bearer key-of-team-a')).toBe(429);
  const clients = mesh.upstream.received('guide').map(({ headers }) => [headers['x-client'], headers.authorization]);
  expect(clients).toEqual([
    ['team-a', undefined],
    ['team-b', undefined],
  ]);
  await mesh.close();
});

test('hosted-provider and several-models: what their curl sends is a request that the filter takes', async () => {
  const mesh = await startTestMesh();
  mesh.upstream.script('guide', { body: [completion({ content: 'Hello.' })] });
  for (const guide of ['hosted-provider', 'several-models'])
    for (const body of bodiesOf(guide, 'guide'))
      expect(await (await mesh.post(body)).json()).toMatchObject({ status: 'completed' });
  await mesh.close();
});
