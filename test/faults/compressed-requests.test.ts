import { randomBytes } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { afterEach, expect, test } from 'vitest';
import { connectExtProc, type ExtProcCall, type ExtProcClient } from '../support/extproc-client.ts';
import { imageFlags } from '../support/image-flags.ts';
import { sendRequest } from '../support/scripted-exchange.ts';
import { type ServiceProcess, startServiceProcess } from '../support/service-process.ts';

/** The image's flags, and the heap of the smallest container that docs/operating.md sizes. */
const nodeOptions = [...imageFlags, '--max-old-space-size=320'];
const small = JSON.stringify({ model: 'm-1', input: 'Hi', stream: true });

/** 4.5 MB of JSON in a few kB; with bytes that do not compress it stays below any limit of the ratio. */
function attack(filler: number): Buffer {
  const values = `${'{}  ,'.repeat(900_000)}{}`;
  const input = `Hi ${randomBytes(filler).toString('base64')}`;
  return gzipSync(
    `{"model":"m-1","stream":true,"input":"${input}","tools":[{"type":"function","name":"f","parameters":{"enum":[${values}]}}]}`,
  );
}

let service: ServiceProcess;
let client: ExtProcClient;
afterEach(async () => {
  client.close();
  await service.remove();
});

test.each([
  ['by their ratio', 0, [413]],
  ['where the ratio is that of text, by what they become', 25_000, [200, 413, 503]],
])(
  '43 small requests that decompress to 4.5 MB each do not end the process: refused %s',
  async (_name, filler, allowed) => {
    service = await startServiceProcess(
      { ADMIN_LISTEN: '127.0.0.1:0', MAX_REQUEST_VALUES: '3000000' },
      { nodeOptions },
    );
    client = connectExtProc(service.listen[0] ?? '');
    const body = attack(filler);
    const running: ExtProcCall[] = [];
    const statuses: number[] = [];
    await Promise.all(
      Array.from({ length: 43 }, async () => {
        const { call, last } = await sendRequest(client, body, { headers: { 'content-encoding': 'gzip' } });
        running.push(call);
        statuses.push(last.immediate_response?.status?.code ?? 200);
      }),
    );
    console.log(
      `${body.length} bytes each:`,
      Object.fromEntries(allowed.map((status) => [status, statuses.filter((each) => each === status).length])),
    );
    expect(statuses.filter((status) => !allowed.includes(status))).toEqual([]);
    expect(statuses.filter((status) => status >= 400).length).toBeGreaterThan(30);
    for (const call of running) call.cancel();
    const served = async () => (await sendRequest(client, small)).last.immediate_response?.status?.code ?? 200;
    await expect.poll(served, { timeout: 10_000, interval: 200 }).toBe(200);
  },
);
