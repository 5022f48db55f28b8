import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Exchange, runSteps } from '../../../../src/filter/exchange/exchange.ts';
import { checkEvent, ProtocolError, requestMoves, responseMoves } from '../../../../src/filter/exchange/phases.ts';
import type { BodyMode, ExchangeEvent } from '../../../../src/filter/exchange/types.ts';
import { checkMove } from '../../../../src/filter/translate/shared/moves.ts';
import { exchangeOptions, headersOf, repliesOf } from '../../../support/exchange-options.ts';
import { describeMoves } from '../../../support/moves.ts';
import { runs } from '../../../support/property-runs.ts';

describeMoves('the request leg', requestMoves, 'awaiting_headers', ['translated', 'passed', 'answered', 'refused']);
describeMoves('the response leg', responseMoves, 'awaiting_headers', ['passed', 'ended']);

test('an event that may not come is the mistake of Envoy, a move that may not be is ours', () => {
  expect(() => checkEvent(requestMoves, 'awaiting_headers', 'request_body')).toThrow(ProtocolError);
  expect(() => checkMove(requestMoves, 'translated', 'request_body', 'passing')).toThrow('No move from translated');
  expect(() => checkMove(requestMoves, 'translated', 'request_body', 'passing')).not.toThrow(ProtocolError);
});

test('the headers of an answer come once, even where no other message came between', () => {
  const exchange = new Exchange(exchangeOptions());
  const headers = headersOf({ ':status': '200', 'content-type': 'application/json' });
  const message = { type: 'response_headers', headers, endOfStream: false } as const;
  repliesOf(exchange, message);
  expect(() => repliesOf(exchange, message)).toThrow(ProtocolError);
});

test('a message of an answer may be handled in steps too, and before it the summary has no parameters', () => {
  const [exchange, other] = [new Exchange(exchangeOptions()), new Exchange(exchangeOptions())];
  expect(exchange.summary().parameters).toEqual({ temperature: null, topP: null, maxOutputTokens: null });
  const headers = headersOf({ ':status': '500' });
  const message = { type: 'response_headers', headers, endOfStream: true } as const;
  const replies = [...runSteps(exchange.handleInSteps(message))];
  expect(replies).not.toEqual([]);
  expect(replies).toEqual(repliesOf(other, message));
});

const modes = fc.constantFrom<BodyMode>('NONE', 'BUFFERED', 'BUFFERED_PARTIAL', 'STREAMED', 'FULL_DUPLEX_STREAMED');
const bytes = fc.constantFrom(
  '',
  '{"model":"m","input":"Hi","stream":true}',
  '{"model":"m","input":"Hi"}',
  '{"model":"m","input":"Hi","generate":false}',
  '{"choices":[{"message":{"content":"Hi"}}]}',
  'data: {"choices":[{"delta":{"content":"Hi"}}]}\n\n',
  'data: [DONE]\n\n',
  '\u0000\u0001',
);
const event = fc.oneof(
  fc.record({ type: fc.constantFrom('request_trailers' as const, 'response_trailers' as const) }),
  fc.record({
    type: fc.constantFrom('request_body' as const, 'response_body' as const),
    body: bytes.map((text) => Buffer.from(text)),
    endOfStream: fc.boolean(),
  }),
  fc.record({
    type: fc.constantFrom('request_headers' as const),
    headers: fc
      .record({ ':method': fc.constantFrom('POST', 'GET'), ':path': fc.constantFrom('/v1/responses', '/v1/models') })
      .map(headersOf),
    endOfStream: fc.boolean(),
  }),
  fc.record({
    type: fc.constantFrom('response_headers' as const),
    headers: fc
      .record({
        ':status': fc.constantFrom('200', '204', '302', '429', '500'),
        'content-type': fc.constantFrom('application/json', 'text/event-stream', 'text/html', ''),
        'content-encoding': fc.constantFrom('', 'gzip', 'rot13'),
      })
      .map(headersOf),
    endOfStream: fc.boolean(),
  }),
);

test('whatever comes in whatever order, the answer is replies or a protocol error', () => {
  const orderly = fc.array(event, { maxLength: 12 });
  fc.assert(
    fc.property(modes, modes, orderly, fc.boolean(), (request, response, events: ExchangeEvent[], sorted) => {
      const exchange = new Exchange(
        exchangeOptions({ modes: { request, response }, stallTimeoutMs: 4000, heartbeatMs: 2000 }),
      );
      const order = ['request_headers', 'request_body', 'request_trailers', 'response_headers', 'response_body', ''];
      const place = (one: ExchangeEvent) => (order.indexOf(one.type) + order.length) % order.length;
      let last = false;
      for (const [index, one] of (sorted ? events.toSorted((a, b) => place(a) - place(b)) : events).entries()) {
        try {
          const replies = [...exchange.handle(one), ...exchange.tick(index * 2800)];
          if (last) expect(replies).toEqual([]);
          last ||= replies.some((reply) => reply.type === 'immediate_response');
        } catch (thrown) {
          expect(thrown).toBeInstanceOf(ProtocolError);
          break;
        }
      }
      exchange.summary();
    }),
    { numRuns: runs(2000) },
  );
});
