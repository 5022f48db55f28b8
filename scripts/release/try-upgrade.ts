import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { findFreePort } from '../../mesh/ports.ts';
import { settingsIn } from '../../src/service/settings/setting.ts';
import { settings } from '../../src/service/settings/settings-table.ts';
import { addEndpoint, untilHealthy } from '../../test/support/envoy-clusters.ts';
import { startLoad } from '../../test/support/load.ts';
import { startTestMesh, type TestMesh } from '../../test/support/mesh.ts';
import { startServiceProcess } from '../../test/support/service-process.ts';
import { completion, delta, done, eventStream, finish } from '../../test/support/upstream.ts';

/** How long a service waits and drains: as shipped, where tests stop at once. */
const drain = Object.fromEntries(
  settingsIn(settings)
    .filter(({ variable }) => variable.startsWith('DRAIN_'))
    .map(({ variable, fallback }) => [variable, fallback]),
);

/**
 * Replaces a build of the service by another behind a real Envoy, under load, as Kubernetes does it: the new one starts, then the
 * old one gets SIGTERM. Then the same the other way. Both are the programs of packages (`dist/main.js`). Throws unless every
 * request was answered in full and reached the upstream once, streams that ran at the SIGTERM ended whole, each process ended
 * with 0, and what one build answered is read by the other as by itself. Resolves with how much there was of it.
 */
export async function tryUpgrade(former: string, next: string): Promise<string> {
  const port = await findFreePort();
  const mesh = await startTestMesh({
    program: { main: former, environment: {} },
    environment: drain,
    edit: (config) => addEndpoint(config, 'responses_extproc', { host: '127.0.0.1', port }),
  });
  const start = () =>
    startServiceProcess({ ...drain, LISTEN: `127.0.0.1:${port}` }, { program: { main: next, environment: {} } });
  let second: Awaited<ReturnType<typeof start>> | undefined;
  const load = startLoad(mesh, 4);
  try {
    await load.sent(50);
    const ofFormer = await talk(mesh);
    const readByFormer = await messagesOf(mesh, ofFormer);

    const streams = await openStreams(mesh);
    second = await start();
    await untilHealthy(mesh.admin, 2);
    const formerEnded = mesh.service.terminate();
    await untilItOnlyDrains(mesh);
    await load.sent(100);
    await streams.finish();
    assert.equal(await formerEnded, 'exit code 0');

    assert.deepEqual(await messagesOf(mesh, ofFormer), readByFormer);
    const ofNext = await talk(mesh);
    const readByNext = await messagesOf(mesh, ofNext);
    const served = await second.metric('responses_extproc_exchanges_total');

    const others = await openStreams(mesh);
    await mesh.service.start();
    await untilHealthy(mesh.admin, 2);
    second.child.kill('SIGTERM');
    await untilItOnlyDrains(mesh);
    await load.sent(100);
    await others.finish();
    assert.equal(await second.child.ended, 'exit code 0');
    assert.deepEqual(await messagesOf(mesh, ofNext), readByNext);

    const results = await load.stop();
    assert.deepEqual(
      results.filter(({ ok }) => !ok),
      [],
    );
    const arrived = mesh.upstream.received('json').length + mesh.upstream.received('sse').length;
    assert.equal(arrived, results.length);
    assert.ok(served >= 100, `The next build served ${served}.`);
    return `${results.length} requests and ${2 * streams.count} streams across both changes, none lost`;
  } finally {
    await load.stop();
    await second?.remove();
    await mesh.close();
  }
}

/** After a SIGTERM to one of two: Envoy asks the other alone, and the one has stopped to accept calls. */
async function untilItOnlyDrains(mesh: TestMesh): Promise<void> {
  await Promise.all([untilHealthy(mesh.admin, 1), sleep(Number(drain['DRAIN_DELAY_MS']) + 1_000)]);
}

const question = { role: 'user', content: 'What is 2 + 3?' } as const;
const tools = [
  { type: 'function', name: 'add', parameters: { type: 'object', properties: {} }, strict: false },
] as const;

/** A turn whose answer thinks and calls a tool, and the tool's output: a history, as a client sends it back. */
async function talk(mesh: TestMesh): Promise<readonly unknown[]> {
  const call = { id: 'call_1', type: 'function', function: { name: 'add', arguments: '{}' } };
  mesh.upstream.script('history', {
    body: [completion({ content: 'Wait.', reasoning_content: 'Two and three.', tool_calls: [call] }, 'tool_calls')],
  });
  const { output } = await mesh.client.responses.create({
    model: 'history',
    input: [question],
    tools: [...tools],
    include: ['reasoning.encrypted_content'],
  });
  assert.deepEqual(
    output.map(({ type }) => type),
    ['reasoning', 'message', 'function_call'],
  );
  return [question, ...output, { type: 'function_call_output', call_id: 'call_1', output: '5' }];
}

/** What the upstream is sent of a history. */
async function messagesOf(mesh: TestMesh, input: readonly unknown[]): Promise<unknown> {
  const response = await mesh.post({ model: 'history', input, tools });
  assert.equal(response.status, 200, await response.text());
  return mesh.upstream.received('history').at(-1)?.json().messages;
}

/** Streams that have begun, and go on when `finish` is called. It throws unless each ends whole. */
async function openStreams(mesh: TestMesh): Promise<{ readonly count: number; finish(): Promise<void> }> {
  const count = 8;
  const goOn = Promise.withResolvers<void>();
  mesh.upstream.script('long', {
    headers: eventStream,
    body: [delta({ content: 'Hi' }), () => goOn.promise, delta({ content: '!' }), finish('stop'), done],
  });
  const responses = await Promise.all(
    Array.from({ length: count }, () => mesh.post({ model: 'long', input: 'x', stream: true })),
  );
  return {
    count,
    async finish() {
      goOn.resolve();
      for (const response of responses) {
        const text = await response.text().catch((error) => `broken off: ${error}`);
        assert.match(text, /event: response\.completed\n/);
        assert.match(text, /"text":"Hi!"/);
      }
    },
  };
}
