import { afterEach, expect, test } from 'vitest';
import type { ExchangeEvent } from '../../src/exchange/types.ts';
import { createExchangeMetrics } from '../../src/server/exchange-metrics.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import { defaultModes, headersOf } from '../support/exchange-options.ts';
import { type RunningService, startService, until } from '../support/service.ts';

let running: RunningService;
afterEach(() => running.stop());

/** What a scrape says after one exchange. */
async function scraped(request: object, answer: string): Promise<string> {
  const state = () => ({ ready: true, exchanges: 0, bufferedBytes: 0 });
  const metrics = createMetrics({ version: '0', maxModels: 10, worker: null, state });
  running = await startService({}, { observers: [createExchangeMetrics(metrics)] });
  const call = running.client.open(defaultModes, {});
  const events: ExchangeEvent[] = [
    {
      type: 'request_headers',
      headers: headersOf({ ':method': 'POST', ':path': '/v1/responses' }),
      endOfStream: false,
    },
    { type: 'request_body', body: Buffer.from(JSON.stringify(request)), endOfStream: true },
    {
      type: 'response_headers',
      headers: headersOf({ ':status': '200', 'content-type': 'application/json' }),
      endOfStream: false,
    },
    { type: 'response_body', body: Buffer.from(answer), endOfStream: true },
  ];
  for (const event of events) call.send(event);
  await call.next();
  call.halfClose();
  await until(() => running.ends.length > 0);
  return metrics.registry.metrics();
}

test('an exchange is counted with its tokens and with all that was left out of its request', async () => {
  const tools = Array.from({ length: 30 }, () => ({ type: 'web_search' }));
  const answer = {
    choices: [{ message: { content: 'Hello' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 },
  };
  const scrape = await scraped({ model: 'm', input: 'Hi', tools }, JSON.stringify(answer));
  expect(scrape).toContain('responses_extproc_exchanges_total{outcome="completed"} 1\n');
  expect(scrape).toContain('responses_extproc_tokens_total{model="m",type="output"} 4\n');
  expect(scrape).toContain('responses_extproc_dropped_total 30\n');
});
