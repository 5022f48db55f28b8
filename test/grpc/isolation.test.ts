import { status } from '@grpc/grpc-js';
import { afterEach, describe, expect, test } from 'vitest';
import type { ExchangeEvent } from '../../src/filter/exchange/types.ts';
import { OverloadGuard } from '../../src/service/memory/overload.ts';
import type { ExchangeObserver, ExchangeWatch } from '../../src/service/telemetry/observer.ts';
import { defaultModes, headersOf } from '../support/exchange-options.ts';
import { type RunningService, startService, until } from '../support/service.ts';

let running: RunningService;
afterEach(() => running.stop());

const headers = (name: string): ExchangeEvent => ({
  type: 'request_headers',
  headers: headersOf({ ':method': 'POST', ':path': '/v1/responses', 'x-request-id': name }),
  endOfStream: false,
});
const body: ExchangeEvent = {
  type: 'request_body',
  body: Buffer.from(JSON.stringify({ model: 'm', input: 'Hi' })),
  endOfStream: true,
};

const roomyGuard = () =>
  new OverloadGuard(
    { maxExchanges: 0, maxBufferedBytes: 0 },
    {
      limit: 2 ** 40,
      live: 0,
      refresh: () => false,
      collect: () => false,
      giveBack: () => false,
    },
    () => {},
  );

/** Fails at one point of every exchange but those of a client whose request id is `spared`. */
function failingAt(point: 'onStart' | keyof ExchangeWatch): ExchangeObserver {
  return {
    onStart() {
      if (point === 'onStart') throw new Error('a bug when it starts');
      let name: string | undefined;
      const reach = (here: string) => {
        if (here === point && name !== 'spared') throw new Error(`a bug in ${point}`);
      };
      return {
        onRequestHeaders(headers) {
          name = headers.get('x-request-id');
          reach('onRequestHeaders');
        },
        onEnd: () => reach('onEnd'),
      };
    },
  };
}

describe('a defect of ours in one call', () => {
  test.each(['onRequestHeaders', 'onEnd'] as const)(
    'in an observer (%s) leaves the other calls alive',
    async (point) => {
      const faults: unknown[] = [];
      const guard = roomyGuard();
      running = await startService(
        {},
        { observers: [failingAt(point)], guard, onFault: (fault) => faults.push(fault) },
      );
      const spared = running.client.open(defaultModes);
      spared.send(headers('spared'));
      expect(await spared.next()).toHaveProperty('request_headers');

      const failing = running.client.open(defaultModes);
      failing.send(headers('failing'));
      if (point === 'onEnd') {
        await failing.next();
        failing.cancel();
      }
      const ended = await failing.status;
      expect(ended.code).toBe(point === 'onEnd' ? status.CANCELLED : status.INTERNAL);
      expect(ended.details).not.toContain('a bug');
      await until(() => guard.exchanges === 1);
      if (point === 'onEnd') expect(String(faults[0])).toContain('a bug in onEnd');
      else expect(running.ends[0]?.how).toBe('crashed'); // later observers are still called

      spared.send(body);
      expect(await spared.next()).toHaveProperty('request_body');
      spared.cancel();
      await until(() => guard.exchanges === 0);
    },
  );

  test('before any observer watches the call is reported, and the admission is released', async () => {
    const faults: unknown[] = [];
    const guard = roomyGuard();
    const options = { observers: [failingAt('onStart')], guard, onFault: (fault: unknown) => faults.push(fault) };
    running = await startService({}, options);
    const call = running.client.open(defaultModes);
    call.send(headers('failing'));
    expect((await call.status).code).toBe(status.INTERNAL);
    expect(String(faults[0])).toContain('a bug when it starts');
    expect(guard.exchanges).toBe(0);
  });
});
