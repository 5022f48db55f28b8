import { status } from '@grpc/grpc-js';
import { afterEach, describe, expect, test } from 'vitest';
import { Exchange } from '../../src/filter/exchange/exchange.ts';
import type { ExchangeOptions } from '../../src/filter/exchange/options.ts';
import type { ExchangeEvent } from '../../src/filter/exchange/types.ts';
import type { ExchangeObserver } from '../../src/service/telemetry/observer.ts';
import { defaultModes, headersOf } from '../support/exchange-options.ts';
import { roomyGuard } from '../support/roomy-guard.ts';
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

describe('a defect of ours in one call', () => {
  test('in an observer is reported, and leaves the other calls alive', async () => {
    const faults: unknown[] = [];
    const guard = roomyGuard();
    const failing: ExchangeObserver = ({ summary }) => {
      if (summary.requestId === 'failing') throw new Error('a bug at the end');
    };
    running = await startService({}, { observers: [failing], guard, onFault: (fault) => faults.push(fault) });
    const spared = running.client.open(defaultModes);
    spared.send(headers('spared'));
    expect(await spared.next()).toHaveProperty('request_headers');

    const call = running.client.open(defaultModes);
    call.send(headers('failing'));
    await call.next();
    call.cancel();
    expect((await call.status).code).toBe(status.CANCELLED);
    await until(() => guard.exchanges === 1);
    expect(String(faults[0])).toContain('a bug at the end');
    expect(running.ends).toHaveLength(1); // later observers are still called

    spared.send(body);
    expect(await spared.next()).toHaveProperty('request_body');
    spared.cancel();
    await until(() => guard.exchanges === 0);
  });

  test('in handling a message ends that call without a word of it, and is reported by the observers', async () => {
    const guard = roomyGuard();
    const createExchange = (options: ExchangeOptions) => {
      const exchange = new Exchange(options);
      exchange.handle = () => {
        throw new Error('a bug in the exchange');
      };
      return exchange;
    };
    running = await startService({}, { guard, createExchange });
    const call = running.client.open(defaultModes);
    call.send(headers('failing'));
    const ended = await call.status;
    expect(ended.code).toBe(status.INTERNAL);
    expect(ended.details).not.toContain('a bug');
    expect(running.ends).toMatchObject([
      { how: 'crashed', cause: expect.objectContaining({ message: 'a bug in the exchange' }) },
    ]);
    expect(guard.exchanges).toBe(0);
  });

  test('before there is an exchange is reported, and the admission is released', async () => {
    const faults: unknown[] = [];
    const guard = roomyGuard();
    const createExchange = () => {
      throw new Error('a bug when it starts');
    };
    running = await startService({}, { createExchange, guard, onFault: (fault: unknown) => faults.push(fault) });
    const call = running.client.open(defaultModes);
    call.send(headers('failing'));
    expect((await call.status).code).toBe(status.INTERNAL);
    expect(String(faults[0])).toContain('a bug when it starts');
    expect(guard.exchanges).toBe(0);
  });
});
