import { OpenAI } from 'openai';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type EnvoyBinary, findEnvoy } from '../../mesh/envoy-binary.ts';
import { findFreePort } from '../../mesh/ports.ts';
import { envoyVersions } from '../matrix/versions.ts';
import {
  completion,
  delta,
  done,
  eventStream,
  finish,
  type Received,
  type ScriptedUpstream,
  startScriptedUpstream,
} from '../support/upstream.ts';
import type { Resource } from './envoy-gateway.ts';
import { render } from './gateways.ts';
import { type IstioGateway, translateForIstio, withInferencePool, withoutIstiosOwn } from './istio.ts';
import { environmentOf, objectOf } from './manifests.ts';
import { type EndpointPicker, startEndpointPicker } from './picker.ts';
import { createPods, type Pods } from './pods.ts';
import { type StaticEnvoy, startStaticEnvoy } from './static-envoy.ts';

const service = 'outbound|50051||responses-extproc.llm.svc.cluster.local';
const filterName = 'responses-extproc/llm/responses-extproc';
const pickersCluster = 'outbound|9002||picker.llm.svc.cluster.local';

const pool = ['kind=InferencePool', 'group=inference.networking.k8s.io', 'port=null', 'name=models'];
// The Chat server's own path is public nowhere: what is translated needs no route of its own for it.
const settings = [
  'gateway.kind=istio',
  'gateway.routes={/v1/models,/v1/completions}',
  ...pool.map((setting) => `gateway.upstream.${setting}`),
];
const objects = withInferencePool(render(...settings));
const gateway = withoutIstiosOwn(translateForIstio(objects));

/** Two full-duplex filters in one Envoy need this one (docs/body-modes.md). */
const envoys = [...envoyVersions].filter(([version]) => version.localeCompare('1.39.3', 'en', { numeric: true }) >= 0);

const MB = 1_000_000;
const letters = (count: number) => 'abcdefgh'.repeat(count / 8);
const text = (size: number) => ({ type: 'input_text', text: letters(size) });
const image = (size: number) => ({
  ...{ type: 'input_image', detail: 'auto' },
  image_url: `data:image/png;base64,${letters(size)}`,
});
/** Its text goes to the model server, where it has three quarters of the size. */
const file = (size: number) => ({
  ...{ type: 'input_file', filename: 'report.txt' },
  file_data: `data:text/plain;base64,${btoa(letters((size / 4) * 3))}`,
});

/** What a request holds, and the size of what that becomes in the body that the picker reads. */
const contents: readonly (readonly [what: string, parts: readonly object[], bytes: number])[] = [
  ['a few words', [{ type: 'input_text', text: 'Hi' }], 2],
  ['5 MB of text', [text(5 * MB)], 5 * MB],
  ['20 MB of text', [text(10 * MB), text(10 * MB)], 20 * MB], // the API takes 10 MiB in one piece
  ['an image of 5 MB', [image(5 * MB)], 5 * MB],
  ['an image of 20 MB', [image(20 * MB)], 20 * MB],
  ['a file of 5 MB', [file(5 * MB)], 3.75 * MB],
  ['a file of 20 MB', [file(20 * MB)], 15 * MB],
];

/** Metrics of vLLM, by which the picker chooses. */
const load = (waiting: number) => ({
  headers: { 'content-type': 'text/plain; version=0.0.4' },
  body: [
    ...['# TYPE vllm:num_requests_waiting gauge\n', `vllm:num_requests_waiting{model_name="m"} ${waiting}\n`],
    ...['# TYPE vllm:num_requests_running gauge\n', `vllm:num_requests_running{model_name="m"} ${waiting}\n`],
    ...['# TYPE vllm:kv_cache_usage_perc gauge\n', `vllm:kv_cache_usage_perc{model_name="m"} ${waiting / 100}\n`],
  ],
});

const words = Array.from({ length: 200 }, (_, index) => `word${index} `);

describe('beside the endpoint picker of the Inference Extension, on what Istio makes of the chart', () => {
  let busy: ScriptedUpstream;
  let idle: ScriptedUpstream;
  let picker: EndpointPicker;
  let pods: Pods;
  const address = '127.0.1.1';

  beforeAll(async () => {
    const port = await findFreePort();
    busy = await startScriptedUpstream({ host: '127.0.2.1', port });
    idle = await startScriptedUpstream({ host: '127.0.2.2', port });
    busy.script('/metrics', load(50));
    idle.script('/metrics', load(0));
    const events = [...words.map((content) => delta({ content })), finish('stop'), done];
    for (const server of [busy, idle]) {
      server.script('json', { body: [completion({ content: 'Hi' })] });
      server.script('stream', { headers: eventStream, body: events });
    }
    const places = [
      { address: '127.0.2.1', port },
      { address: '127.0.2.2', port },
    ];
    picker = await startEndpointPicker(objectOf(objects, 'InferencePool'), places);
    pods = await createPods(environmentOf(objectOf(objects, 'Deployment')));
    await pods.start(address);
  });
  afterAll(async () => {
    await pods?.close();
    await picker?.close();
    await Promise.all([busy?.close(), idle?.close()]);
  });

  async function withEnvoy(
    of: IstioGateway,
    binary: EnvoyBinary,
    run: (envoy: StaticEnvoy) => Promise<void>,
  ): Promise<void> {
    const [listener = {}] = of.listeners;
    const [routes = {}] = of.routes;
    const modelsCluster = of.clusters.find(({ name }) => name.startsWith('outbound|54321||models-ip-'));
    const envoy = await startStaticEnvoy({
      binary,
      controlPlane: { listener, routes, clusters: of.clusters },
      service,
      ports: { grpc: pods.ports.grpc },
      pods: [{ address }],
      upstream: 0,
      endpoints: {
        [pickersCluster]: [picker.grpc],
        [modelsCluster?.['name']]: ['127.0.2.1', '127.0.2.2'].map((host) => ({ address: host, port: idle.port })),
      },
    });
    try {
      const ready = /outbound\|50051.*::health_flags::healthy/;
      await expect.poll(() => envoy.admin('/clusters')).toMatch(ready);
      await run(envoy);
    } finally {
      await envoy.close();
    }
  }

  const post = ({ url }: StaticEnvoy, path: string, body: unknown) =>
    fetch(`${url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  const ask = (envoy: StaticEnvoy, model: string, content: readonly object[]) =>
    post(envoy, '/v1/responses', { model, stream: model === 'stream', input: [{ role: 'user', content }] });

  /** The one request that reached the server with the short queue since there were `before`; nothing reached the other. */
  function arrivedSince(before: number, script: string): Received {
    const [arrived, ...more] = idle.received(script).slice(before);
    if (arrived === undefined) throw new Error('nothing arrived');
    expect(more).toEqual([]);
    expect(busy.received(script)).toEqual([]);
    expect(arrived.headers).toMatchObject({ 'x-gateway-destination-endpoint': `127.0.2.2:${idle.port}` });
    return arrived;
  }

  describe.each(envoys)('Envoy %s', (version, install) => {
    test('a request of every size reaches the server that the picker chose, whole and once', async () => {
      const seen: Record<string, number> = {};
      await withEnvoy(gateway, install(), async (envoy) => {
        for (const [what, parts, bytes] of contents) {
          const before = idle.received('json').length;
          const answer = await ask(envoy, 'json', parts);
          seen[what] = answer.status;
          expect(await answer.json(), what).toMatchObject({ status: 'completed' });
          const { body, path } = arrivedSince(before, 'json');
          expect(path).toBe('/v1/chat/completions');
          expect(body.length - bytes, what).toBeGreaterThan(0);
          expect(body.length - bytes, what).toBeLessThan(200);
        }
      });
      console.log(`Beside the endpoint picker, Envoy ${version}: ${JSON.stringify(seen)}`);
      expect(seen).toEqual(Object.fromEntries(contents.map(([what]) => [what, 200])));
    });

    test('a stream comes through both, whole', async () => {
      await withEnvoy(gateway, install(), async (envoy) => {
        const client = new OpenAI({ baseURL: `${envoy.url}/v1`, apiKey: 'k', maxRetries: 0 });
        const before = idle.received('stream').length;
        const answer = await client.responses.stream({ model: 'stream', input: 'Hi' }).finalResponse();
        expect(answer.output_text).toBe(words.join(''));
        arrivedSince(before, 'stream');
      });
    });

    test('what is not translated goes by the picker too', async () => {
      await withEnvoy(gateway, install(), async (envoy) => {
        const before = idle.received('json').length;
        const body = { model: 'json', prompt: letters(5 * MB) };
        expect((await post(envoy, '/v1/completions', body)).status).toBe(200);
        expect(arrivedSince(before, 'json').json()).toEqual(body);
      });
    });
  });

  test('in BUFFERED, a body that gRPC does not take in one message is a 500', async () => {
    const buffered = structuredClone(gateway);
    const filters: Resource[] = buffered.listeners[0]?.['filterChains'][0].filters.at(-1).typedConfig.httpFilters;
    const filter = filters.find(({ name }) => name === filterName);
    Object.assign(filter?.['typedConfig'].processingMode, { requestBodyMode: 'BUFFERED', requestTrailerMode: 'SKIP' });
    await withEnvoy(buffered, findEnvoy(process.env), async (envoy) => {
      const before = idle.received('json').length;
      expect((await ask(envoy, 'json', [text(4 * MB)])).status).toBe(200);
      arrivedSince(before, 'json');
      expect((await ask(envoy, 'json', [text(5 * MB)])).status).toBe(500);
      expect(idle.received('json').slice(before + 1)).toEqual([]);
      const refusal = () => envoy.accessLog().find(({ status }) => status === 500)?.['details'];
      await expect.poll(refusal).toMatch(/received_message_larger_than_max/);
    });
  });
});
