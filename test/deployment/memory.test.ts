import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectExtProc, type ExtProcCall, type ExtProcClient } from '../support/extproc-client.ts';
import { imageFlags } from '../support/image-flags.ts';
import { beginStream, endStream, sendRequest } from '../support/scripted-exchange.ts';
import { type ServiceProcess, startServiceProcess } from '../support/service-process.ts';

const MiB = 1024 * 1024;
const small = JSON.stringify({ model: 'm-1', input: 'Hi', stream: true });

/** The costliest JSON there is: 21 bytes of heap for each of its own. */
const emptyObjects = (bytes: number) => `{"model":"m-1","input":[${'{},'.repeat(bytes / 3)}{}]}`;

/** A service that would die of what these clients send if it took it all: 96 MiB of heap. */
let service: ServiceProcess;
let client: ExtProcClient;

beforeAll(async () => {
  // A compile cache takes heap that the service does not reckon with.
  // The shipped limit on values would refuse the costliest bodies before the one on memory is reached.
  const environment = { LOG_LEVEL: 'info', NODE_DISABLE_COMPILE_CACHE: '1', MAX_REQUEST_VALUES: '1000000' };
  service = await startServiceProcess(environment, {
    nodeOptions: [...imageFlags, '--max-old-space-size=96'],
  });
  client = connectExtProc(service.listen[0] ?? '');
});
afterAll(async () => {
  client.close();
  await service.remove();
});

/** The HTTP status a client is told, or 200 when the request went on to the upstream; the call's end where there was one. */
async function statusOf(body: string, headers: Readonly<Record<string, string>> = {}): Promise<number | string> {
  try {
    const { call, last } = await sendRequest(client, body, { headers });
    call.cancel();
    return last.immediate_response?.status?.code ?? 200;
  } catch (error) {
    return String(error);
  }
}

describe('with 96 MiB of heap', () => {
  it('says at the start which limits it had to lower', async () => {
    const lowered = service.log.filter((line) => line['msg'] === 'limit lowered to fit in memory');
    expect(lowered.map(({ reason }) => String(reason).split(' ', 1)[0])).toContain('MAX_REQUEST_BYTES');
    const config = (await (await service.get('/config')).json()) as Record<string, number>;
    expect(config['MAX_REQUEST_BYTES']).toBeLessThan(3 * MiB);
  });

  it('refuses a larger body at its headers', async () => {
    expect(await statusOf(JSON.stringify({ model: 'm-1', input: 'x'.repeat(8 * MiB) }))).toBe(413);
  });

  it('lives through many of the costliest bodies at once, answers each with a status, and takes others then', async () => {
    const body = emptyObjects(1.2 * MiB);
    const statuses = await Promise.all(Array.from({ length: 40 }, () => statusOf(body)));
    // 400: more items than MAX_INPUT_ITEMS.
    expect(statuses.filter((status) => status !== 400 && status !== 503)).toEqual([]);
    // How many of them are taken depends on when V8 collects: one is counted to take nearly all of the heap.
    await expect.poll(() => statusOf(emptyObjects(0.4 * MiB)), { timeout: 240_000, interval: 100 }).toBe(400);
  });

  it('refuses those of which one would take half of the heap, without parsing them', async () => {
    await expect.poll(() => statusOf(emptyObjects(2 * MiB))).toBe(413);
  });

  it('lives through more running streams than fit, turning the rest away with 503', async () => {
    // What is kept of each while its answer runs: the request's instructions, which the answer repeats.
    const body = JSON.stringify({ model: 'm-1', input: 'Hi', stream: true, instructions: 'é€'.repeat(15_000) });
    const running: ExtProcCall[] = [];
    let refused = 0;
    for (let round = 0; round < 60; round += 1) {
      const opened = await Promise.all(Array.from({ length: 20 }, () => sendRequest(client, body)));
      for (const { call, last } of opened) {
        if (last.immediate_response === undefined) running.push(call);
        else {
          expect(last.immediate_response.status?.code).toBe(503);
          refused += 1;
        }
      }
      if (refused > 40) break;
    }
    expect(refused).toBeGreaterThan(40);
    expect(running.length).toBeGreaterThan(50);
    expect(await service.metric('responses_extproc_overload_total', { limit: 'memory' })).toBeGreaterThan(40);
    for (const call of running) call.cancel();
  });

  it('serves as before once they have gone', async () => {
    await expect.poll(() => statusOf(small), { interval: 100 }).toBe(200);
    const { call } = await sendRequest(client, small);
    await beginStream(call);
    await endStream(call);
    call.cancel();
    await expect.poll(() => service.metric('responses_extproc_active_exchanges')).toBe(0);
    expect(await service.metric('responses_extproc_buffered_bytes')).toBe(0);
  });
});

describe('a limit on bytes that wait', () => {
  it('turns away announced bodies beyond it, and has room again when they are through', async () => {
    const limited = await startServiceProcess({ MAX_BUFFERED_BYTES: String(MiB) });
    const other = connectExtProc(limited.listen[0] ?? '');
    try {
      const headers = (bytes: number) =>
        new Map([
          [':method', 'POST'],
          [':path', '/v1/responses'],
          ['content-type', 'application/json'],
          ['content-length', String(bytes)],
        ]);
      const waiting = other.open({ request: 'BUFFERED', response: 'FULL_DUPLEX_STREAMED' });
      waiting.send({ type: 'request_headers', headers: headers(900_000), endOfStream: false });
      await waiting.next();
      expect(await limited.metric('responses_extproc_buffered_bytes')).toBe(900_000);

      const refused = other.open({ request: 'BUFFERED', response: 'FULL_DUPLEX_STREAMED' });
      refused.send({ type: 'request_headers', headers: headers(300_000), endOfStream: false });
      const { immediate_response: answer } = await refused.next();
      expect(answer?.status?.code).toBe(503);
      expect(JSON.parse(String(answer?.body))).toMatchObject({ error: { code: 'server_overloaded' } });
      const sent = answer?.headers?.set_headers?.map(({ header }) => [header?.key, String(header?.raw_value)]);
      expect(sent).toContainEqual(['retry-after', '2']);

      waiting.cancel();
      await expect.poll(() => limited.metric('responses_extproc_buffered_bytes')).toBe(0);
      const { last } = await sendRequest(other, JSON.stringify({ model: 'm-1', input: 'x'.repeat(300_000) }));
      expect(last.immediate_response).toBeUndefined();
      expect(await limited.metric('responses_extproc_overload_total', { limit: 'buffered_bytes' })).toBe(1);
    } finally {
      other.close();
      await limited.remove();
    }
  });
});
