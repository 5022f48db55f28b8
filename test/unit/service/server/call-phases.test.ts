import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Exchange } from '../../../../src/filter/exchange/exchange.ts';
import type { ExchangeEvent } from '../../../../src/filter/exchange/types.ts';
import { ApiError } from '../../../../src/filter/wire/schema/api-error.ts';
import { callMoves } from '../../../../src/service/server/call-phases.ts';
import { ProcessCall } from '../../../../src/service/server/process.ts';
import { defaultModes, exchangeOptions, headersOf } from '../../../support/exchange-options.ts';
import { messageOf } from '../../../support/extproc-client.ts';
import { describeMoves } from '../../../support/moves.ts';
import { runs } from '../../../support/property-runs.ts';
import { processMethod } from '../../../support/proto-definitions.ts';

describeMoves('a call', callMoves, 'silent', ['over']);

const overload = new ApiError('short', { status: 503, type: 'server_error', code: 'server_overloaded' });
const chunk = (content: string) => `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content } }] })}\n\n`;
const answerOf = (text: string): ExchangeEvent => ({
  type: 'response_body',
  body: Buffer.from(text),
  endOfStream: false,
});

const messages: Readonly<Record<string, ExchangeEvent>> = {
  'headers of a request': {
    type: 'request_headers',
    headers: headersOf({ ':method': 'POST', ':path': '/v1/responses', 'content-encoding': 'gzip' }),
    endOfStream: false,
  },
  'a body that takes steps': {
    type: 'request_body',
    body: gzipSync('{"model":"m","input":"Hi","stream":true}'),
    endOfStream: true,
  },
  'headers of a response': {
    type: 'response_headers',
    headers: headersOf({ ':status': '200', 'content-type': 'text/event-stream' }),
    endOfStream: false,
  },
  'a token': answerOf(chunk('x')),
  'a burst': answerOf(chunk('x'.repeat(40_000))),
  'a long answer': answerOf(chunk('x'.repeat(300_000))),
  'the end of the answer': answerOf('data: [DONE]\n\n'),
};

const deeds = [
  ...['an observed message', 'bytes that are no message', 'a tick', 'half-close', 'close'],
  ...['a turn of the queue', 'the caller stops reading', 'the caller reads on'],
  ...['memory: pause', 'memory: resume', 'memory: cut'],
];

/** The messages of a stream in order, with deeds among them; then anything. */
const orderly = fc
  .array(fc.array(fc.constantFrom(...deeds), { maxLength: 2 }), { minLength: 7, maxLength: 7 })
  .map((between) => Object.keys(messages).flatMap((name, index) => [...(between[index] ?? []), name]));
const sequences = fc.oneof(
  { weight: 3, arbitrary: orderly },
  { weight: 1, arbitrary: fc.array(fc.constantFrom(...deeds, ...Object.keys(messages)), { maxLength: 16 }) },
);

/** A call whose caller, queues, clock and memory the test plays; `act` does one deed. */
function startCall() {
  const seen = { opened: 0, released: 0, listening: 0, ended: 0, sentAfterEnd: 0, defects: [] as unknown[] };
  const queue: (() => boolean)[] = [];
  let [isRead, isBlocked, isOver, at] = [true, false, false, 0];
  const end = () => {
    [isRead, isBlocked, isOver] = [true, false, true];
  };
  const add = (step: () => boolean) => void queue.push(step);
  const call = new ProcessCall(
    {
      metadata: {},
      send() {
        if (isOver) seen.sentAfterEnd += 1;
      },
      isBlocked: () => isBlocked,
      hasRoom: () => !isBlocked && !isOver,
      pause() {
        isRead = false;
      },
      resume() {
        isRead = true;
      },
      end,
      cancel: end,
    },
    {
      open() {
        seen.opened += 1;
        const release = () => {
          seen.released += 1;
        };
        const admission = { hold: () => null, setUnsent() {}, release };
        const options = exchangeOptions({ stallTimeoutMs: 4000, heartbeatMs: 2000 });
        return { exchange: new Exchange(options), modes: defaultModes, admission };
      },
      worked() {},
      refusalAfter: () => null,
      queues: { queued_once: { add, hasTime: () => false }, in_steps: { add, hasTime: () => false } },
      observers: [
        ({ how, cause }) => {
          seen.ended += 1;
          if (how === 'crashed') seen.defects.push(cause);
        },
      ],
      ticker: {
        add() {
          seen.listening += 1;
        },
        remove() {
          seen.listening -= 1;
        },
        stop() {},
      },
      firstMessageMs: 5000,
      onFault: (thrown) => void seen.defects.push(thrown),
    },
  );
  const others: Readonly<Record<string, () => void>> = {
    'an observed message': () =>
      call.message(processMethod.requestSerialize({ request_headers: {}, observability_mode: true })),
    'bytes that are no message': () => call.message(Buffer.from([0x0a])),
    'a tick'() {
      at += 2500;
      call.tick(at);
    },
    'half-close': () => call.halfClosed(),
    close: () => call.closed(),
    'a turn of the queue': () => {
      if (queue[0]?.() === true) queue.shift();
    },
    'the caller stops reading': () => {
      isBlocked = true;
      call.blocked(70_000);
    },
    'the caller reads on': () => {
      isBlocked = false;
      call.drained();
    },
    'memory: pause': () => seen.released < seen.opened && call.pause(),
    'memory: resume': () => seen.released < seen.opened && call.resume(),
    'memory: cut': () => seen.released < seen.opened && call.shed(overload),
  };
  return {
    seen,
    act(deed: string): void {
      const event = messages[deed];
      if (event !== undefined) call.message(processMethod.requestSerialize(messageOf(event)));
      else others[deed]?.();
      // Nothing is read behind a message that waits for its turn.
      if (queue.length > 0 && seen.released < seen.opened) expect(isRead).toBe(false);
    },
    settle(): void {
      others['the caller reads on']?.();
      for (let turns = 0; queue.length > 0; turns++) {
        expect(turns).toBeLessThan(100);
        others['a turn of the queue']?.();
      }
    },
  };
}

test('whatever happens to a call in whatever order, it ends once, by its table, and gives back what it took', () => {
  fc.assert(
    fc.property(sequences, (sequence) => {
      const { seen, act, settle } = startCall();
      for (const deed of sequence) act(deed);
      settle();
      act('close');
      settle();
      expect(seen.opened).toBeLessThan(2);
      expect({ ...seen, defects: seen.defects.map(String) }).toEqual({
        ...{ opened: seen.opened, released: seen.opened, ended: seen.opened, listening: 0, sentAfterEnd: 0 },
        defects: [],
      });
    }),
    { numRuns: runs(1000) },
  );
});
