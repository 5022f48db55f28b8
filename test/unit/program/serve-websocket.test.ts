import { expect, onTestFinished, test } from 'vitest';
import { openWebSocket as openListener } from '../../../src/program/serve-websocket.ts';
import { readConfig } from '../../../src/service/settings/config.ts';
import { createLog } from '../../../src/service/telemetry/log.ts';
import { createMetrics } from '../../../src/service/telemetry/metrics.ts';
import { roomyGuard } from '../../support/roomy-guard.ts';
import { openWebSocket } from '../../support/websocket-client.ts';

const throws = (): never => {
  throw new Error('a defect of an observer');
};
const state = () => ({ ready: true, exchanges: 0, bufferedBytes: 0, profilesRejected: false, lostLogLines: 0 });

test('a connection goes on whatever its observers throw: log, metrics and the inspector', async () => {
  const lines: string[] = [];
  const log = createLog('info', { write: (line) => void lines.push(line) });
  const metrics = createMetrics({ version: '1', maxModels: 1, profile: 'generic', worker: null, state });
  for (const name of ['webSocketTurns', 'webSocketRefusals', 'webSocketCloses'] as const) metrics[name].inc = throws;
  const config = readConfig({ WEBSOCKET_LISTEN: '127.0.0.1:0', WEBSOCKET_FORWARD_TO: 'http://127.0.0.1:1/v1' });
  const endpoint = await openListener(
    config,
    roomyGuard(),
    Object.assign(log, { info: throws }),
    metrics,
    true,
    throws,
  );
  onTestFinished(() => endpoint.drain(0, 0));
  const url = `http://${endpoint.address}/v1/responses`;

  await expect(openWebSocket(url, { origin: 'https://elsewhere.example' })).rejects.toThrow();
  const client = await openWebSocket(url);
  for (let turn = 0; turn < 2; turn += 1) {
    client.send({ type: 'response.none' });
    expect(await client.message(({ type }) => type === 'error')).toMatchObject({ status: 400 });
    // Nobody listens there.
    const [last] = (await client.turn({ model: 'm', input: 'Hi' })).slice(-1);
    expect(last).toMatchObject({ type: 'error', error: { code: 'upstream_unavailable' } });
  }
  await client.close();
  expect(await client.closed).toMatchObject({ code: 1005 });
  await expect.poll(() => endpoint.connections).toBe(0);
  expect(lines.filter((line) => line.includes('internal error')).length).toBeGreaterThan(4);
});
