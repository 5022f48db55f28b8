import { setImmediate as nextTurn } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import { defaultModes, headersOf } from '../support/exchange-options.ts';
import type { ExtProcCall } from '../support/extproc-client.ts';
import { type RunningService, startService } from '../support/service.ts';

let running: RunningService;
afterEach(() => running.stop());

const MiB = 1024 * 1024;
const large = JSON.stringify({
  model: 'm',
  input: [
    { role: 'user', content: [{ type: 'input_image', image_url: `data:image/png;base64,${'A'.repeat(18 * MiB)}` }] },
  ],
});

function begin(headers: Record<string, string> = {}): ExtProcCall {
  const call = running.client.open(defaultModes);
  const all = { ':method': 'POST', ':path': '/v1/responses', 'content-type': 'application/json', ...headers };
  call.send({ type: 'request_headers', headers: headersOf(all), endOfStream: false });
  return call;
}

describe('a large body', () => {
  it.each([
    ['plain', {}, Buffer.from(large)],
    [
      'compressed',
      { 'content-encoding': 'gzip' },
      gzipSync(JSON.stringify({ model: 'm', input: 'word '.repeat(100_000) })),
    ],
  ])('is translated while other calls go on: %s', async (_name, headers, body) => {
    running = await startService();
    const call = begin(headers);
    await call.next();
    call.send({ type: 'request_body', body, endOfStream: true });
    let turns = 0;
    let replied = false;
    const reply = call.next().then((message) => {
      replied = true;
      return message;
    });
    // Service and client share this process: what keeps the event loop here keeps it there.
    while (!replied) {
      turns += 1;
      await nextTurn();
    }
    expect(turns).toBeGreaterThan(5);
    expect((await reply).request_body).toBeDefined();
    call.cancel();
  });

  it('that is refused in a later step is refused as any other', async () => {
    running = await startService();
    const call = begin();
    await call.next();
    call.send({ type: 'request_body', body: Buffer.from(large.replace('"m"', '7')), endOfStream: true });
    const { immediate_response } = await call.next();
    expect(immediate_response?.status?.code).toBe(400);
    call.cancel();
  });

  it('whose client is gone is dropped between two steps', async () => {
    running = await startService();
    const call = begin();
    await call.next();
    call.send({ type: 'request_body', body: Buffer.from(large), endOfStream: true });
    call.cancel();
    await expect.poll(() => running.ends.length).toBe(1);
    expect(running.running).toBe(0);
  });

  it('in full duplex waits for its trailers, and takes what comes meanwhile in order', async () => {
    running = await startService();
    const call = running.client.open({ request: 'FULL_DUPLEX_STREAMED', response: 'FULL_DUPLEX_STREAMED' });
    const headers = headersOf({ ':method': 'POST', ':path': '/v1/responses', 'content-type': 'application/json' });
    call.send({ type: 'request_headers', headers, endOfStream: false });
    call.send({ type: 'request_body', body: Buffer.from(large), endOfStream: false });
    call.send({ type: 'request_trailers' });
    expect((await call.next()).request_headers).toBeDefined();
    call.cancel();
  });
});
