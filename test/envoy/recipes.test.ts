import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { codeBlocks } from '../../scripts/tests/readme-commands.ts';
import { type CertificateAuthority, createAuthority } from '../support/certificates.ts';
import { putBefore, useProvider } from '../support/guide-config.ts';
import { startTestMesh, type TestMesh } from '../support/mesh.ts';
import { completion, type ScriptedUpstream, startScriptedUpstream } from '../support/upstream.ts';

const recipes = join(import.meta.dirname, '../../envoy/recipes');
const answer = { body: [completion({ content: 'Hi' })] };

let authority: CertificateAuthority;
let provider: ScriptedUpstream;
let impostor: ScriptedUpstream;
beforeAll(async () => {
  process.env['PROVIDER_API_KEY'] = 'sk-of-the-provider';
  authority = createAuthority('authority-of-the-test');
  provider = await startScriptedUpstream({ tls: authority.issue('provider', 'DNS:api.example.com') });
  impostor = await startScriptedUpstream({ tls: authority.issue('impostor', 'DNS:impostor.example.com') });
});
afterAll(async () => {
  Reflect.deleteProperty(process.env, 'PROVIDER_API_KEY');
  await Promise.all([provider.close(), impostor.close()]);
  authority.remove();
});

test.each(readdirSync(recipes).filter((name) => name.endsWith('.yaml')))(
  'envoy/recipes/%s answers a request, with its provider and its service here',
  async (name) => {
    const mesh = await startTestMesh({
      configFile: join(recipes, name),
      edit(config) {
        const outside = config.static_resources.clusters.filter((cluster) => 'transport_socket' in cluster);
        expect(outside).toHaveLength(1);
        for (const { name: cluster } of outside) useProvider(config, cluster, provider, authority);
      },
    });
    for (const upstream of [provider, mesh.upstream]) upstream.script('any', answer);
    expect((await mesh.client.responses.create({ model: 'any', input: 'Hi' })).output_text).toBe('Hi');
    await mesh.close();
  },
);

describe('envoy/recipes/hosted.yaml', () => {
  const configFile = join(recipes, 'hosted.yaml');

  test('gives the provider its name, its Host, its key and Chat Completions as it takes them, and nothing of the client’s', async () => {
    const mesh = await startTestMesh({
      configFile,
      edit: (config) => useProvider(config, 'chat', provider, authority),
    });
    provider.script('hosted', answer);
    provider.script('/v1/models', { body: ['{"object":"list","data":[]}'] });
    const response = await mesh.client.responses.create({ model: 'hosted', input: 'Hi', max_output_tokens: 64 });
    expect(response.output_text).toBe('Hi');
    await mesh.client.chat.completions.create({ model: 'hosted', messages: [{ role: 'user', content: 'Hi' }] });
    await mesh.client.models.list();
    const seen = [...provider.received('hosted'), ...provider.received('/v1/models')];
    expect(seen).toHaveLength(3);
    for (const { headers, serverName } of seen) {
      expect([serverName, headers.host]).toEqual(['api.example.com', 'api.example.com']);
      expect(headers.authorization).toBe('Bearer sk-of-the-provider');
      expect(JSON.stringify(headers)).not.toMatch(/sk-of-the-client|127\.0\.0\.1/);
    }
    expect(seen[0]?.json()).toHaveProperty('max_completion_tokens', 64); // as OpenAI's models have it
    await mesh.close();
  });

  test('gives the provider its own key where the guide to keys of teams was followed next', async () => {
    const [keys = ''] = codeBlocks(
      readFileSync(join(recipes, '../../docs/guides/limits-and-budgets.md'), 'utf8'),
      'yaml',
    );
    const mesh = await startTestMesh({
      configFile,
      edit(config) {
        useProvider(config, 'chat', provider, authority);
        putBefore(config, [keys]);
      },
    });
    provider.script('of-a-team', answer);
    const body = { model: 'of-a-team', input: 'Hi' };
    expect((await mesh.post(body)).status).toBe(401);
    const response = await mesh.post(body, { headers: { authorization: 'Bearer key-of-team-a' } });
    expect(await response.json()).toMatchObject({ status: 'completed' });
    expect(provider.received('of-a-team').map(({ headers }) => headers.authorization)).toEqual([
      'Bearer sk-of-the-provider',
    ]);
    await mesh.close();
  });

  test('gives nothing to a server whose certificate is for another name', async () => {
    const mesh = await startTestMesh({
      configFile,
      edit: (config) => useProvider(config, 'chat', impostor, authority),
    });
    const refused = await mesh.post({ model: 'hosted', input: 'Hi' });
    expect(refused.status).toBe(503);
    expect(await mesh.accessLog(({ upstream_failure: failure }) => failure !== null)).toMatchObject({
      upstream_failure: expect.stringContaining('CERTIFICATE_VERIFY_FAILED'),
    });
    expect(impostor.all).toEqual([]);
    await mesh.close();
  });
});

describe('envoy/recipes/route-by-model.yaml', () => {
  let mesh: TestMesh;
  beforeAll(async () => {
    mesh = await startTestMesh({
      configFile: join(recipes, 'route-by-model.yaml'),
      edit: (config) => useProvider(config, 'hosted', provider, authority),
    });
  });
  afterAll(() => mesh.close());

  /** Sends a body as it is; resolves with the status, and the requests that each upstream got of it. */
  async function send(script: string, body: string, { path = '/v1/responses', headers = {} } = {}) {
    for (const upstream of [provider, mesh.upstream]) upstream.script(script, answer);
    const response = await fetch(mesh.url + path, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        authorization: 'Bearer of-the-client',
        ...headers,
        'x-test-script': script,
      },
      body,
    });
    await response.text();
    return { status: response.status, hosted: provider.received(script), local: mesh.upstream.received(script) };
  }

  test('gpt-… goes to the provider with its key and profile, every other to the local server with the client’s', async () => {
    const ask = (model: string) => JSON.stringify({ model, input: 'Hi', max_output_tokens: 64, stream: false });
    const [gpt, qwen] = [await send('gpt-5', ask('gpt-5')), await send('qwen3', ask('qwen3'))];
    expect([gpt.hosted.length, gpt.local.length, qwen.hosted.length, qwen.local.length]).toEqual([1, 0, 0, 1]);
    const [hosted, local] = [gpt.hosted[0], qwen.local[0]];
    expect(hosted).toMatchObject({ path: '/v1/chat/completions', serverName: 'api.example.com' });
    expect(hosted?.headers).toMatchObject({ authorization: 'Bearer sk-of-the-provider', host: 'api.example.com' });
    expect(hosted?.json()).toHaveProperty('max_completion_tokens', 64);
    expect(local?.headers).toMatchObject({ authorization: 'Bearer of-the-client' });
    expect(local?.json()).toHaveProperty('max_tokens', 64);
    for (const request of [hosted, local]) expect(request?.headers).not.toHaveProperty('x-gateway-model-name');
  });

  test('so do Chat Completions that are not translated', async () => {
    const ask = (model: string) => JSON.stringify({ model, messages: [{ role: 'user', content: 'Hi' }] });
    const options = { path: '/v1/chat/completions' };
    expect((await send('chat-gpt', ask('gpt-5'), options)).hosted).toHaveLength(1);
    expect((await send('chat-qwen', ask('qwen3'), options)).local).toHaveLength(1);
  });

  test.each([
    [
      'a parameter of a tool is called model',
      '{"model":"qwen","tools":[{"type":"function","name":"f","parameters":{"model":"gpt-5"}}],"input":"Hi"}',
      'local',
    ],
    [
      'the text has it',
      String.raw`{"input":"say \"model\":\"gpt-5\" and {\"model\":\"gpt-5\"}","model":"qwen"}`,
      'local',
    ],
    ['the text ends in a backslash', String.raw`{"input":"C:\\","model":"gpt-5"}`, 'hosted'],
    ['it is a value', '{"user":"model","model":"gpt-5","input":"Hi"}', 'hosted'],
    ['it comes last and spaced', '{"input": [{"role": "user", "content": "Hi"}],\n "model"\t: "gpt-5" }', 'hosted'],
    ['it is there twice, and the last counts', '{"model":"qwen","model":"gpt-5","input":"Hi"}', 'hosted'],
    ['a reader sees it in another spelling', String.raw`{"model":"gpt-5\/x","input":"Hi"}`, 'hosted'],
    ['the client names another in the header', '{"model":"qwen","input":"Hi"}', 'local', 'gpt-5'],
  ])('the model is that of the request where %s', async (what, body, where, header = '') => {
    const headers = header === '' ? {} : { 'x-gateway-model-name': header };
    const sent = await send(what, body, { headers });
    expect(sent.status).toBe(200);
    expect([sent.hosted.length, sent.local.length]).toEqual(where === 'hosted' ? [1, 0] : [0, 1]);
  });

  test.each([
    ['no JSON', 'gpt-5'],
    ['no model', '{"input":"Hi"}'],
    ['a model that is no string', '{"model":{"model":"gpt-5"},"input":"Hi"}'],
    ['a string without end', '{"model":"gpt-5'],
    ['more brackets than are read', '['.repeat(1_200_000)],
    ['nothing', ''],
  ])('%s is an error of the API, and reaches nobody', async (what, body) => {
    const sent = await send(what, body, { headers: { 'x-gateway-model-name': 'gpt-5' } });
    expect(sent.status).toBe(400);
    expect([sent.hosted, sent.local]).toEqual([[], []]);
  });

  test('a request of megabytes goes where its model is', async () => {
    const input = [{ role: 'user', content: [{ type: 'input_text', text: '"{\\'.repeat(1_000_000) }] }];
    const sent = await send('large', JSON.stringify({ input, model: 'gpt-5' }));
    expect(sent.status).toBe(200);
    expect(sent.hosted).toHaveLength(1);
    expect(sent.hosted[0]?.body.length).toBeGreaterThan(5_000_000);
  });

  test('a GET with the header of a client goes where all go', async () => {
    mesh.upstream.script('/v1/models', { body: ['{"object":"list","data":[]}'] });
    const response = await fetch(`${mesh.url}/v1/models`, { headers: { 'x-gateway-model-name': 'gpt-5' } });
    expect(response.status).toBe(200);
    expect(mesh.upstream.received('/v1/models')).toHaveLength(1);
  });
});
