import { afterEach, expect, test } from 'vitest';
import { defaultModes, headersOf } from '../support/exchange-options.ts';
import { type RunningService, startService } from '../support/service.ts';

let running: RunningService;
afterEach(() => running.stop());

test('a stream outlives many pings of a connection that drains', async () => {
  const pingMs = 200;
  running = await startService({}, { pingMs, pingTimeoutMs: 20_000 });
  const call = running.client.open(defaultModes);
  call.send({
    type: 'request_headers',
    headers: headersOf({ ':method': 'PUT', ':path': '/files' }),
    endOfStream: false,
  });
  await call.next();

  const drained = running.service.drain(60_000);
  await new Promise((resolve) => setTimeout(resolve, 10 * pingMs));
  call.send({ type: 'request_body', body: Buffer.from('x'), endOfStream: true });
  expect(await call.next()).toHaveProperty('request_body');
  call.halfClose();
  expect(await drained).toBe('drained');
});
