import { connect as connectHttp2 } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { connectExtProc, type ExtProcClient } from '../support/extproc-client.ts';
import { imageFlags } from '../support/image-flags.ts';
import { residentMiB } from '../support/memory.ts';
import { processMethod } from '../support/proto-definitions.ts';
import { beginStream, endStream, sendRequest } from '../support/scripted-exchange.ts';
import { type ServiceProcess, startServiceProcess } from '../support/service-process.ts';

const KiB = 1024;
const MiB = 1024 * KiB;
const small = JSON.stringify({ model: 'm-1', input: 'Hi', stream: true });

/** `unit` as often as it takes to fill so many bytes. */
const fill = (unit: string, bytes: number) => unit.repeat(Math.ceil(bytes / unit.length));
const withTools = (unit: string, bytes: number) =>
  `{"model":"m-1","input":"Hi","tools":[{"type":"function","name":"f","parameters":{"enum":[${fill(`${unit},`, bytes)}{}]}}]}`;

interface Attack {
  /** Attacks until it is over; nothing in it may reject. */
  readonly run: (service: ServiceProcess, client: ExtProcClient) => Promise<void>;
}

/** The bodies, all at once; each gets some answer. */
function bodies(make: () => Buffer, count: number, headers: Readonly<Record<string, string>> = {}): Attack {
  return {
    async run(_service, client) {
      const body = make();
      await Promise.all(
        Array.from({ length: count }, async () => {
          const opened = await sendRequest(client, body, { headers }).catch(() => null);
          opened?.call.cancel();
        }),
      );
    },
  };
}
const gzip = { 'content-encoding': 'gzip' };

const attacks: Readonly<Record<string, Attack>> = {
  'large plain text': bodies(() => Buffer.from(JSON.stringify({ model: 'm', input: 'x'.repeat(1.9 * MiB) })), 60),
  'bodies of empty objects': bodies(() => Buffer.from(`{"model":"m","input":[${fill('{},', 1.9 * MiB)}{}]}`), 40),
  'tools of empty objects': bodies(() => Buffer.from(withTools('{}', 1.9 * MiB)), 40),
  'compressed text': bodies(() => gzipSync(JSON.stringify({ model: 'm', input: 'x'.repeat(1.9 * MiB) })), 60, gzip),
  'a compressed bomb': bodies(() => gzipSync(Buffer.alloc(200 * MiB, 'x')), 20, gzip),
  'compressed tools of empty objects': bodies(() => gzipSync(withTools('{}  ', 4.5 * MiB)), 43, gzip),
  'compressed tools of small objects': bodies(() => gzipSync(withTools('{"a":1}', 1.9 * MiB)), 20, gzip),
  'silent connections': {
    async run(service) {
      const port = Number(service.listen[0]?.split(':').at(-1));
      const sockets: Socket[] = [];
      for (let opened = 0; opened < 1000; opened += 1) sockets.push(connect(port, '127.0.0.1').on('error', () => {}));
      await sleep(1000);
      for (const socket of sockets) socket.destroy();
    },
  },
  'calls that are reset': {
    async run(service) {
      const session = connectHttp2(`http://${service.listen[0]}`).on('error', () => {});
      const path = { ':method': 'POST', ':path': processMethod.path };
      for (let round = 0; round < 200; round += 1) {
        for (let opened = 0; opened < 100 && !session.destroyed; opened += 1) {
          const call = session.request({ ...path, 'content-type': 'application/grpc', te: 'trailers' });
          call.on('error', () => {}).close(8);
        }
        await sleep(1);
      }
      session.destroy();
    },
  },
};

describe.each([96, 320, 2048])('with %i MB of heap and the image’s flags', (heap) => {
  let service: ServiceProcess;
  let client: ExtProcClient;
  beforeEach(async () => {
    const nodeOptions = [...imageFlags, `--max-old-space-size=${heap}`];
    service = await startServiceProcess({ LOG_LEVEL: 'info' }, { nodeOptions });
    client = connectExtProc(service.listen[0] ?? '');
  });
  afterEach(async () => {
    client.close();
    await service.remove();
  });

  test.each(Object.entries(attacks))('%s: it lives, and serves others within seconds', async (_name, { run }) => {
    const attacker = connectExtProc(service.listen[0] ?? '');
    await run(service, attacker);
    attacker.close();
    const statusOf = async () => {
      const { call, last } = await sendRequest(client, small);
      call.cancel();
      return last.immediate_response?.status?.code ?? 200;
    };
    await expect.poll(statusOf, { timeout: 60_000, interval: 100 }).toBe(200);
    const { call } = await sendRequest(client, small);
    await beginStream(call);
    await endStream(call);
    call.cancel();
    await expect.poll(() => service.metric('responses_extproc_active_exchanges')).toBe(0);
    expect(await service.metric('responses_extproc_buffered_bytes')).toBe(0);
    await expect.poll(async () => (await service.get('/readyz')).status).toBe(200);
    console.log(`${heap} MB of heap, ${_name}: ${residentMiB(service.child.pid)} MiB resident`);
  });
});
