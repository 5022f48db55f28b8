import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { Exchange } from '../../../../src/filter/exchange/exchange.ts';
import type { BodyModes, ExchangeReply } from '../../../../src/filter/exchange/types.ts';
import { exchangeOptions, headersOf } from '../../../support/exchange-options.ts';
import { inPiecesOf } from '../../../support/split.ts';

const request = Buffer.from(JSON.stringify({ model: 'm', input: 'What is the weather in Paris, and in Rome?' }));
const streamRequest = Buffer.from(JSON.stringify({ model: 'm', input: 'Hi', stream: true }));
const completion = Buffer.from(
  JSON.stringify({ choices: [{ index: 0, message: { role: 'assistant', content: 'Sunny.' }, finish_reason: 'stop' }] }),
);
const events = Buffer.from(
  [{ content: 'Sun' }, { content: 'ny.' }]
    .map((delta) => `data: ${JSON.stringify({ choices: [{ index: 0, delta }] })}\n\n`)
    .join(''),
);
const error = Buffer.from(JSON.stringify({ error: { message: 'The model is loading.', type: 'unavailable' } }));

/**
 * Node reads from a socket once for many calls, and what it read goes when no view of it is left. Here each piece is such
 * a view, and its memory is used for something else as soon as the exchange has had it.
 */
function play(
  read: 'alone' | 'among others',
  modes: BodyModes,
  asked: Buffer,
  given: string[],
  answer: Buffer,
): string[] {
  const exchange = new Exchange(exchangeOptions({ modes }));
  const memory = Buffer.from(new ArrayBuffer(64 * 1024));
  const said: ExchangeReply[] = [];
  const send = (type: 'request_body' | 'response_body', piece: Uint8Array, endOfStream: boolean) => {
    if (read === 'alone') said.push(...exchange.handle({ type, body: Buffer.from(piece), endOfStream }));
    else {
      memory.set(piece, 1000);
      said.push(...exchange.handle({ type, body: memory.subarray(1000, 1000 + piece.length), endOfStream }));
      memory.fill('!');
    }
  };
  const sendAll = (type: 'request_body' | 'response_body', body: Buffer) => {
    for (const piece of inPiecesOf(10, body)) send(type, piece, false);
    send(type, Buffer.alloc(0), true);
  };
  const headers = headersOf({ ':method': 'POST', ':path': '/v1/responses', 'content-type': 'application/json' });
  said.push(...exchange.handle({ type: 'request_headers', headers, endOfStream: false }));
  sendAll('request_body', asked);
  const [status = '', type = '', coding = ''] = given;
  const answered = headersOf({ ':status': status, 'content-type': type, 'content-encoding': coding });
  said.push(...exchange.handle({ type: 'response_headers', headers: answered, endOfStream: false }));
  sendAll('response_body', answer);
  return said.map((reply) => JSON.stringify({ ...reply, body: 'body' in reply ? String(reply.body) : '' }));
}

describe('an exchange keeps no bytes that were read with those of others', () => {
  const modes = { request: 'FULL_DUPLEX_STREAMED', response: 'FULL_DUPLEX_STREAMED' } as const;
  it.each([
    ['an answer in JSON', request, ['200', 'application/json'], completion],
    ['a compressed one', request, ['200', 'application/json', 'gzip'], gzipSync(completion)],
    ['an event stream', streamRequest, ['200', 'text/event-stream'], events],
    ['a compressed one, too', streamRequest, ['200', 'text/event-stream', 'gzip'], gzipSync(events)],
    ['an error', request, ['503', 'application/json'], error],
  ])('in pieces: %s', (_what, asked, given, answer) => {
    const alone = play('alone', modes, asked, given, answer);
    expect(alone.join()).toMatch(/Sun|loading/);
    expect(play('among others', modes, asked, given, answer)).toEqual(alone);
  });
});
