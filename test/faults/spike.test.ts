import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { connectExtProc, type ExtProcCall, type ExtProcClient } from '../support/extproc-client.ts';
import { imageFlags } from '../support/image-flags.ts';
import { sendRequest } from '../support/scripted-exchange.ts';
import { type ServiceProcess, startServiceProcess } from '../support/service-process.ts';

/** The image's flags, and the heap of the smallest container that docs/operating.md sizes. */
const nodeOptions = [...imageFlags, '--max-old-space-size=320'];
const small = JSON.stringify({ model: 'm-1', input: 'Hi', stream: true });

let service: ServiceProcess;
let client: ExtProcClient;
afterEach(async () => {
  client.close();
  await service.remove();
});

async function statusOf(body: string): Promise<number> {
  const { call, last } = await sendRequest(client, body);
  call.cancel();
  return last.immediate_response?.status?.code ?? 200;
}

test('a spike that fills the heap turns readiness off; when its clients disconnect the service recovers within seconds', async () => {
  service = await startServiceProcess({ LOG_LEVEL: 'info', ADMIN_LISTEN: '127.0.0.1:0' }, { nodeOptions });
  client = connectExtProc(service.listen[0] ?? '');
  const readiness = async () => (await service.get('/readyz')).status;
  const running: ExtProcCall[] = [];
  // What a running exchange keeps of its request in the heap: the names of its tools. No call holds enough to be failed for it.
  const tools = Array.from({ length: 400 }, (_, index) => ({ type: 'custom', name: `tool_${index}` }));
  const body = JSON.stringify({ model: 'm-1', input: 'Hi', stream: true, tools });
  let isReady = true;
  for (let sent = 0; sent < 20_000 && isReady; sent += 1) {
    const { call, last } = await sendRequest(client, body);
    if (last.immediate_response === undefined) running.push(call);
    else {
      // While every request is refused, Envoy and Kubernetes are told so.
      await sleep(100);
      isReady = (await readiness()) === 200;
    }
  }
  expect(isReady).toBe(false);
  expect(await statusOf(small)).toBe(503);
  expect((await service.get('/healthz')).status).toBe(200);

  for (const call of running) call.cancel();
  const goneAt = performance.now();
  let status = 503;
  for (; status !== 200 && performance.now() - goneAt < 60_000; await sleep(100)) status = await statusOf(small);
  const seconds = (performance.now() - goneAt) / 1000;
  console.log(`${running.length} requests filled the heap; served again after ${seconds.toFixed(1)} s`);
  expect(status).toBe(200);
  await expect.poll(readiness).toBe(200);
  await service.logged(({ msg }) => msg === 'available again: ready');
});
