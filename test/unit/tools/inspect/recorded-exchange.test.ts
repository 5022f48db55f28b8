import { expect, it } from 'vitest';
import { createRecorder } from '../../../../src/tools/inspect/recorded-exchange.ts';
import { probeAgent } from '../../../../src/tools/inspect/recording.ts';
import { createExchangeStore } from '../../../../src/tools/inspect/store.ts';
import { rowOf } from '../../../../src/tools/inspect/told-exchange.ts';
import { exchangeOptions } from '../../../support/exchange-options.ts';

function recordedAfter(agent: string | null) {
  const store = createExchangeStore();
  const { createExchange, observer } = createRecorder(store);
  const exchange = createExchange(exchangeOptions());
  const watch = observer.onStart(exchange, {});
  if (agent !== null) {
    const headers = new Map([
      [':method', 'POST'],
      [':path', '/v1/responses'],
      ['user-agent', agent],
    ]);
    exchange.handle({ type: 'request_headers', headers, endOfStream: false });
    const body = Buffer.from(JSON.stringify({ model: 'm', input: 'Are you there?' }));
    exchange.handle({ type: 'request_body', body, endOfStream: true });
  }
  const times = { duration: 1, firstByte: null, firstToken: null, work: { request: 0, response: 0 } };
  watch.onEnd({ how: 'aborted', summary: exchange.summary(), times, cause: null });
  return [...store.list()].map(rowOf);
}

it('a client’s request is listed', () => {
  expect(recordedAfter('a-client')).toMatchObject([{ client: 'a-client', outcome: 'aborted', endpoint: 'responses' }]);
});

it('the probe of `npm start` is no request of anybody’s: it is not listed', () => {
  expect(recordedAfter(probeAgent)).toEqual([]);
});

it('a call that ends before its headers came is listed', () => {
  expect(recordedAfter(null)).toMatchObject([{ client: null, outcome: 'aborted', endpoint: null }]);
});
