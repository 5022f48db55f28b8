import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, test } from 'vitest';
import { defaultModes, headersOf } from '../support/exchange-options.ts';
import { connectExtProc } from '../support/extproc-client.ts';
import { processMethod } from '../support/proto-definitions.ts';
import { type ServiceProcess, startServiceProcess } from '../support/service-process.ts';

const script = fileURLToPath(import.meta.resolve('../support/reset-flood.ts'));
const headers = headersOf({ ':method': 'POST', ':path': '/v1/responses', 'content-type': 'application/json' });

let service: ServiceProcess;
afterEach(() => service.remove());

/** Counted, not timed: whoever is kept from answers gets none while the flood goes on, and that is until both have come. */
test('one peer that resets 32,000 calls keeps neither another peer nor the admin port from answers', async () => {
  service = await startServiceProcess({});
  const [address = ''] = service.listen;
  const client = connectExtProc(address);
  const flood = spawn(process.execPath, [script, `http://${address}`, processMethod.path], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let opened = 0;
  createInterface(flood.stdout).on('line', (line) => {
    opened = Number(line);
  });
  try {
    for (let served = 0; served < 5 || opened < 32_000; served++) {
      expect((await service.get('/healthz')).status).toBe(200);
      const call = client.open(defaultModes);
      call.send({ type: 'request_headers', headers, endOfStream: false });
      await call.next();
      call.send({ type: 'request_body', body: Buffer.from('{"model":"m","input":"Hi"}'), endOfStream: true });
      expect(await call.next()).toHaveProperty('request_body');
      call.cancel();
    }
  } finally {
    flood.kill();
    client.close();
  }
  await expect.poll(() => service.metric('responses_extproc_active_exchanges')).toBe(0);
  expect(service.log.filter(({ level, outcome }) => level === 'error' || outcome === 'crashed')).toEqual([]);
});
