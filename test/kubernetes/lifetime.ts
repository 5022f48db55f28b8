import { setTimeout as sleep } from 'node:timers/promises';
import { OpenAI } from 'openai';
import type { ExpectStatic } from 'vitest';
import type { EnvoyBinary } from '../../mesh/envoy-binary.ts';
import type { ServiceProcess } from '../support/service-process.ts';
import { completion, delta, done, eventStream, finish, startScriptedUpstream } from '../support/upstream.ts';
import { createPods } from './pods.ts';
import { type ControlPlane, type StaticEnvoy, startStaticEnvoy } from './static-envoy.ts';

export interface LifetimeOptions {
  readonly binary: EnvoyBinary;
  readonly controlPlane: ControlPlane;
  /** Name of the service's cluster. */
  readonly service: string;
  /** Which port Envoy's health checks go to. */
  readonly checks: 'grpc' | 'admin';
  /** What the Deployment sets. */
  readonly environment: Readonly<Record<string, string>>;
  /** Of the test, as others run beside it. */
  readonly expect: ExpectStatic;
}

/** What was measured, for docs/kubernetes.md. */
export interface Figures {
  readonly streamMs: number;
  readonly requestsAfterDeath: number;
  readonly failedAfterDeath: number;
}

/**
 * Runs two pods behind a real Envoy on a control plane's configuration, with a stream of 36 s on one of them. Meanwhile: a
 * request of 2 MiB, one over the limit, SIGKILL for the other pod, a third pod, and SIGTERM for the pod with the stream.
 */
export async function liveThrough({
  binary,
  controlPlane,
  service,
  checks,
  environment,
  expect,
}: LifetimeOptions): Promise<Figures> {
  const upstream = await startScriptedUpstream();
  const pods = await createPods(environment);
  let envoy: StaticEnvoy | undefined;
  try {
    const [one, two, three] = ['127.0.1.1', '127.0.1.2', '127.0.1.3'] as const;
    const byAddress = new Map<string, ServiceProcess>([
      [one, await pods.start(one)],
      [two, await pods.start(two)],
    ]);
    const ports = { grpc: pods.ports.grpc, admin: checks === 'admin' ? pods.ports.admin : undefined };
    const started = [{ address: one }, { address: two }];
    envoy = await startStaticEnvoy({ binary, controlPlane, service, ports, upstream: upstream.port, pods: started });
    const { url } = envoy;
    const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'k', maxRetries: 0, timeout: 120_000 });
    const post = (body: unknown) =>
      fetch(`${url}/v1/responses`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });

    upstream.script('short', { body: [completion({ content: 'Hi' })] });
    upstream.script('models', { body: ['[]'] });
    await expect.poll(async () => (await post({ model: 'short', input: 'Hi' })).status, { timeout: 20_000 }).toBe(200);

    // 72 tokens, half a second each. Envoy Gateway's own defaults would cut it at 15 s.
    const words = Array.from({ length: 72 }, (_, index) => `word${index} `);
    const body = [...words.flatMap((content) => [delta({ content }), 500]), finish('stop'), done];
    upstream.script('long', { headers: eventStream, body });
    const began = Date.now();
    const long = client.responses.stream({ model: 'long', input: 'Take your time.' }).finalResponse();
    const active = (address: string) => byAddress.get(address)?.metric('responses_extproc_active_exchanges');
    await expect.poll(async () => ((await active(one)) ?? 0) + ((await active(two)) ?? 0)).toBe(1);
    const [busy, idle] = (await active(one)) === 1 ? [one, two] : [two, one];

    const large = await client.responses.create({ model: 'short', input: 'x'.repeat(2 * 1024 * 1024) });
    expect(large.output_text).toBe('Hi');
    const limit = Number(environment['MAX_REQUEST_BYTES']);
    // Refused by its announced length, before it is sent.
    expect((await post({ model: 'short', input: 'x'.repeat(limit + 1024) })).status).toBe(413);
    expect((await fetch(`${url}/v1/models`, { headers: { 'x-test-script': 'models' } })).status).toBe(200);

    // SIGKILL without an update of the endpoints: Envoy's retries, outlier detection and health checks have to cope.
    byAddress.get(idle)?.child.kill('SIGKILL');
    const afterDeath = await statuses(post, 150, 20);
    expect(afterDeath.filter((status) => status !== 200 && status !== 503)).toEqual([]);
    // Those that were on their way to it may fail: which ones Envoy tries again is a race, and how many there are a matter of speed.
    await expect.poll(() => statuses(post, 50, 20)).toEqual(Array(50).fill(200));

    // A third pod takes its place.
    const third = await pods.start(three);
    envoy.setPods([{ address: busy }, { address: three }]);
    await expect
      .poll(
        async () => {
          await post({ model: 'short', input: 'Hi' });
          return third.metric('responses_extproc_exchanges_total');
        },
        { timeout: 20_000 },
      )
      .toBeGreaterThan(5);

    // A rolling restart of the pod with the stream: Envoy marks it as draining, the pod gets SIGTERM. No request fails.
    envoy.setPods([{ address: busy, draining: true }, { address: three }]);
    byAddress.get(busy)?.child.kill('SIGTERM');
    expect(await statuses(post, 100, 20)).toEqual(Array(100).fill(200));

    const answer = await long;
    expect(answer.status).toBe('completed');
    expect(answer.output_text).toBe(words.join(''));
    expect(Date.now() - began).toBeGreaterThan(30_000);
    // The pod exits when its last stream has ended.
    expect(await byAddress.get(busy)?.child.ended).toBe('exit code 0');
    // No call failed for another reason than the killed pod.
    const lost = envoy
      .accessLog()
      .filter((line) => String(line['details']).includes('ext_proc') && line['status'] !== 503);
    expect(lost).toEqual([]);
    const failed = afterDeath.filter((status) => status !== 200).length;
    return { streamMs: Date.now() - began, requestsAfterDeath: afterDeath.length, failedAfterDeath: failed };
  } finally {
    await Promise.all([envoy?.close(), pods.close(), upstream.close()]);
  }
}

/** Statuses of `count` requests, one every `intervalMs`. */
async function statuses(
  post: (body: unknown) => Promise<Response>,
  count: number,
  intervalMs: number,
): Promise<number[]> {
  const answers: Promise<number>[] = [];
  for (let index = 0; index < count; index += 1) {
    answers.push(
      post({ model: 'short', input: 'Hi' }).then(async (answer) => {
        await answer.arrayBuffer();
        return answer.status;
      }),
    );
    await sleep(intervalMs);
  }
  return Promise.all(answers);
}
