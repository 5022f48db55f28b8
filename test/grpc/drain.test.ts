import { afterEach, expect, test } from 'vitest';
import { defaultModes, headersOf } from '../support/exchange-options.ts';
import { holdTimers } from '../support/held-timers.ts';
import { type RunningService, startService } from '../support/service.ts';
import { ownTurn } from '../support/settled.ts';

let running: RunningService;
afterEach(() => running.stop());

test('a stream outlives many pings of a connection that drains', async () => {
  const pingMs = 3_600_000;
  const pings = holdTimers(pingMs);
  running = await startService({}, { pingMs, pingTimeoutMs: 240_000 });
  const call = running.client.open(defaultModes);
  call.send({
    type: 'request_headers',
    headers: headersOf({ ':method': 'PUT', ':path': '/files' }),
    endOfStream: false,
  });
  await call.next();
  expect(pings.count).toBeGreaterThan(0);

  const drained = running.service.drain(240_000);
  for (let turn = 0; turn < 100; turn += 1) {
    await ownTurn();
    pings.pass();
  }
  call.send({ type: 'request_body', body: Buffer.from('x'), endOfStream: true });
  expect(await call.next()).toHaveProperty('request_body');
  call.halfClose();
  expect(await drained).toBe('drained');
});
