import { expect, it } from 'vitest';
import { Exchange } from '../../../../src/filter/exchange/exchange.ts';
import type { ExchangeTap } from '../../../../src/filter/exchange/options.ts';
import type { ExchangeEvent, ExchangeReply } from '../../../../src/filter/exchange/types.ts';
import { exchangeOptions, headersOf, repliesOf } from '../../../support/exchange-options.ts';

const chunk = (content: string) => `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content } }] })}\n\n`;
const piece = (text: string, endOfStream = false): ExchangeEvent => ({
  type: 'response_body',
  body: Buffer.from(text),
  endOfStream,
});
const events: readonly ExchangeEvent[] = [
  {
    type: 'request_headers',
    headers: headersOf({ ':method': 'POST', ':path': '/v1/responses' }),
    endOfStream: false,
  },
  {
    type: 'request_body',
    body: Buffer.from(JSON.stringify({ model: 'm', input: 'Hi', stream: true })),
    endOfStream: true,
  },
  {
    type: 'response_headers',
    headers: headersOf({ ':status': '200', 'content-type': 'text/event-stream' }),
    endOfStream: false,
  },
  piece(chunk('Hel')),
  piece(chunk('lo') + chunk('!')),
  // Long enough to be answered in several replies, each made when it is asked for.
  piece(Array.from({ length: 3000 }, () => chunk('x'.repeat(100))).join('')),
  piece('data: [DONE]\n\n', true),
];

interface Seen {
  readonly events: ExchangeEvent[];
  readonly replies: [ExchangeEvent | null, ExchangeReply][];
  readonly messages: number[];
}

function tapInto(seen: Seen): ExchangeTap {
  return {
    onEvent: (event) => void seen.events.push(event),
    onMessage: (made) => void seen.messages.push(made),
    onReplies: (replies, event) => {
      for (const reply of replies) seen.replies.push([event, reply]);
    },
  };
}

it('a tap sees each message and each reply to it, in order, and changes none', () => {
  const seen: Seen = { events: [], replies: [], messages: [] };
  const plain = new Exchange(exchangeOptions());
  const tapped = new Exchange(exchangeOptions({ tap: tapInto(seen) }));
  const given: [ExchangeEvent | null, ExchangeReply][] = [];
  for (const event of events) {
    const replies = repliesOf(tapped, event);
    expect(replies).toEqual(repliesOf(plain, event));
    given.push(...replies.map((reply) => [event, reply] as [ExchangeEvent, ExchangeReply]));
  }
  expect(seen.events).toEqual(events);
  const withoutMetadata = ([event, { metadata: _metadata, ...reply }]: (typeof given)[number]) => [event, reply];
  expect(seen.replies.map(withoutMetadata)).toEqual(given.map(withoutMetadata));
  // The first chunk begins the response, the item and its part.
  expect(seen.messages.slice(0, 3)).toEqual([5, 1, 1]);
  expect(seen.messages).toHaveLength(3004);
});

it('a tap sees replies that are due because time has passed, and those in steps', () => {
  const seen: Seen = { events: [], replies: [], messages: [] };
  const exchange = new Exchange(exchangeOptions({ tap: tapInto(seen), heartbeatMs: 1000 }));
  const [headers, body, ...answer] = events;
  if (headers === undefined || body?.type !== 'request_body') throw new Error('The request is missing.');
  repliesOf(exchange, headers);
  const steps = exchange.handleInSteps(body);
  let step = steps.next();
  while (!step.done) step = steps.next();
  expect(seen.replies.at(-1)?.[0]).toBe(body);
  for (const event of answer.slice(0, 2)) repliesOf(exchange, event);
  const before = seen.replies.length;
  for (const at of [0, 500, 1000, 1500, 2000]) exchange.tick(at);
  expect(seen.replies.slice(before)).toMatchObject([[null, { type: 'response_body' }]]);
});
