import { setImmediate } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { Exchange } from '../../../src/exchange/exchange.ts';
import type { ExchangeEvent } from '../../../src/exchange/types.ts';
import { processMethod } from '../../../src/extproc/messages.ts';
import type { GrpcCall } from '../../../src/server/grpc-call.ts';
import { processCall } from '../../../src/server/process.ts';
import { createTicker } from '../../../src/server/ticker.ts';
import { defaultModes, exchangeOptions, headersOf } from '../../support/exchange-options.ts';
import { messageOf } from '../../support/extproc-client.ts';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

const headers: ExchangeEvent = {
  type: 'request_headers',
  headers: headersOf({ ':method': 'POST', ':path': '/v1/responses', 'content-type': 'application/json' }),
  endOfStream: false,
};

// Node's own handle of the stream, and with it all of this, may live long after the call.
test.each(['closed', 'halfClosed'] as const)('a call that is %s no longer refers to its exchange', async (how) => {
  const ticker = createTicker(1000);
  const call: GrpcCall = { metadata: {}, send() {}, isBlocked: () => false, end() {} };
  let exchange: WeakRef<Exchange> | null = null;
  let watch: WeakRef<object> | null = null;
  const listener = processCall(call, {
    open() {
      const opened = new Exchange(exchangeOptions());
      exchange = new WeakRef(opened);
      return { exchange: opened, modes: defaultModes, close() {} };
    },
    observers: [
      {
        onStart(given) {
          const made = { given, onEnd() {} };
          watch = new WeakRef(made);
          return made;
        },
      },
    ],
    ticker,
    firstMessageMs: 1000,
    onFault() {},
  });
  listener.message(processMethod.requestSerialize(messageOf(headers)));
  const held = () => [exchange?.deref() !== undefined, watch?.deref() !== undefined];
  // What a WeakRef refers to stays for the turn in which it was made or read.
  await setImmediate();
  collect();
  expect(held()).toEqual([true, true]);

  listener[how]();
  await setImmediate();
  collect();
  expect(held()).toEqual([false, false]);
  listener.closed();
  ticker.stop();
});
