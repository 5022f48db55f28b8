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

test('of small calls that fill the heap the newest are cut, so that others are served, and the oldest go on', async () => {
  service = await startServiceProcess({ LOG_LEVEL: 'info', ADMIN_LISTEN: '127.0.0.1:0' }, { nodeOptions });
  client = connectExtProc(service.listen[0] ?? '');
  const running: ExtProcCall[] = [];
  const cut: number[] = [];
  // What a running exchange keeps of its request in the heap: the names of its tools. No call holds enough to be failed for it.
  const tools = Array.from({ length: 400 }, (_, index) => ({ type: 'custom', name: `tool_${index}` }));
  const body = JSON.stringify({ model: 'm-1', input: 'Hi', stream: true, tools });
  for (let sent = 0; sent < 20_000 && cut.length === 0; sent += 1) {
    const { call, last } = await sendRequest(client, body);
    if (last.immediate_response !== undefined) continue;
    const place = running.push(call) - 1;
    void call.status.then(() => cut.push(place));
  }
  console.log(`${running.length} calls filled the heap; cut: ${cut.length}, from ${Math.min(...cut)} on`);
  expect(Math.min(...cut)).toBeGreaterThan(running.length / 2);
  await expect.poll(() => statusOf(small)).toBe(200);
  expect((await service.get('/healthz')).status).toBe(200);

  for (const call of running) call.cancel();
  await expect.poll(async () => (await service.get('/readyz')).status).toBe(200);
  expect(await statusOf(small)).toBe(200);
});
