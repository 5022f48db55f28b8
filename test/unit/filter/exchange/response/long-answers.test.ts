import { describe, expect, test } from 'vitest';
import { Exchange } from '../../../../../src/filter/exchange/exchange.ts';
import {
  type ClientBytes,
  encodeLongEvents,
  joinBodies,
  LongBody,
} from '../../../../../src/filter/exchange/response/delivery.ts';
import { createPassedReader } from '../../../../../src/filter/exchange/response/passed-reader.ts';
import type { UpstreamBodyReader } from '../../../../../src/filter/exchange/response/upstream-body-reader.ts';
import { createWholeBodyReader } from '../../../../../src/filter/exchange/response/whole-body-reader.ts';
import type { BodyModes, ExchangeReply, Hold } from '../../../../../src/filter/exchange/types.ts';
import { ApiError } from '../../../../../src/filter/wire/schema/api-error.ts';
import { takeCollector } from '../../../../../src/service/memory/heap.ts';
import { createTestContext } from '../../../../support/context.ts';
import { exchangeOptions, headersOf, repliesOf } from '../../../../support/exchange-options.ts';
import { faultsOfStream } from '../../../../support/invariants.ts';
import { wholeOf } from '../../../../support/whole-of.ts';

const modes: BodyModes = { request: 'FULL_DUPLEX_STREAMED', response: 'FULL_DUPLEX_STREAMED' };
const MiB = 1024 * 1024;
const chunk = (choice: object) => `data: ${JSON.stringify({ model: 'm', choices: [{ index: 0, ...choice }] })}\n\n`;
const instructions = 'Be brief. €😀 '.repeat(40_000);
const text = 'All that was asked for. '.repeat(40_000);
const shortOfMemory = new ApiError('Memory is short.', {
  status: 503,
  type: 'server_error',
  code: 'server_overloaded',
});

/** An exchange whose request is sent, and whose upstream has begun to answer. */
function begun(request: object, contentType: string, hold: Hold = () => null): Exchange {
  const bodyLimits = {
    maxRequestBytes: 8 * MiB,
    maxResponseBytes: 8 * MiB,
    maxErrorBytes: MiB,
    maxSseEventBytes: 8 * MiB,
  };
  const exchange = new Exchange(exchangeOptions({ modes, hold, bodyLimits }));
  const headers = headersOf({ ':method': 'POST', ':path': '/v1/responses', 'content-type': 'application/json' });
  repliesOf(exchange, { type: 'request_headers', headers, endOfStream: false });
  const body = Buffer.from(JSON.stringify({ model: 'm', input: 'Hi', instructions, ...request }));
  repliesOf(exchange, { type: 'request_body', body, endOfStream: true });
  const answered = headersOf({ ':status': '200', 'content-type': contentType });
  repliesOf(exchange, { type: 'response_headers', headers: answered, endOfStream: false });
  return exchange;
}

const bodyOf = (exchange: Exchange, body: string, endOfStream = false) =>
  exchange.handle({ type: 'response_body', body: Buffer.from(body), endOfStream });

function bytesOf(replies: Iterable<ExchangeReply>): Buffer[] {
  return [...replies].flatMap((reply) => (reply.type === 'response_body' ? [Buffer.from(reply.body ?? '')] : []));
}

const dataOf = (stream: string) => Array.from(stream.matchAll(/^data: (.*)$/gm), ([, data = '']) => data);

describe('a long answer', () => {
  test('is made while it is sent: nothing of it exists before it is asked for', () => {
    const exchange = begun({ stream: true }, 'text/event-stream');
    const start = bodyOf(exchange, chunk({ delta: { content: 'Hi' } }));
    expect(Array.isArray(start)).toBe(false);
    const pieces = bytesOf(start);
    for (const { length } of pieces) expect(length > 0 && length <= 62_000, `${length} bytes`).toBe(true);
    const client = [...pieces, ...bytesOf(bodyOf(exchange, chunk({ delta: { content: text } })))];
    client.push(...bytesOf(bodyOf(exchange, `${chunk({ delta: {}, finish_reason: 'stop' })}data: [DONE]\n\n`, true)));
    // Some clients' parsers look for the end of an event in one piece.
    for (const piece of client) expect(piece.toString('latin1')).not.toMatch(/[^\n]\n$/);
    const stream = Buffer.concat(client).toString();
    expect(faultsOfStream(stream)).toEqual([]);
    const { response } = JSON.parse(dataOf(stream).at(-2) ?? '') as {
      response: { instructions: string; output: unknown[] };
    };
    expect(response.instructions).toBe(instructions);
    expect(JSON.stringify(response.output)).toContain(JSON.stringify(`Hi${text}`).slice(1, -1));
  });

  test('may be made of short parts and long ones, of which none makes an empty piece', () => {
    const partsOf = (...sizes: number[]) => [...new LongBody(() => sizes.map((size) => Buffer.alloc(size, 'x')))];
    const lengths = (pieces: Buffer[]) => pieces.map(({ length }) => length);
    expect(lengths(partsOf(62_001, 5))).toEqual([62_000, 1, 5]);
    expect(lengths(partsOf(5, 62_001))).toEqual([5, 62_000, 1]);
    expect(lengths(partsOf(5, 61_995, 1))).toEqual([62_000, 1]);
    expect(lengths(partsOf(5, 61_996))).toEqual([5, 61_996]);
    expect(lengths(partsOf(62_000, 124_000))).toEqual([62_000, 62_000, 62_000]);
    expect(partsOf()).toEqual([]);
  });

  test('has both line feeds after an event in one piece, wherever they fall', () => {
    const ids = { item_id: 'a', output_index: 0, content_index: 0, sequence_number: 0 };
    const piecesOf = (size: number) => [
      ...encodeLongEvents([{ type: 'response.reasoning.done', ...ids, text: 'x'.repeat(size) }], false),
    ];
    const around = Buffer.concat(piecesOf(0)).length;
    const pieces = piecesOf(124_001 - around);
    expect(Buffer.concat(pieces)).toHaveLength(124_001);
    expect(pieces.at(-1)?.toString().slice(-2)).toBe('\n\n');
  });

  test('may follow short bytes, or come before them', () => {
    const long = () => new LongBody(() => ['long ', Buffer.from('one')]);
    const short = Buffer.from(' short ');
    const nothing = Buffer.alloc(0);
    const text = (first: ClientBytes, second: ClientBytes) => wholeOf(joinBodies(first, second)).toString();
    expect(text(long(), short)).toBe('long one short ');
    expect(text(short, long())).toBe(' short long one');
    expect(text(long(), long())).toBe('long onelong one');
    expect(text(short, short)).toBe(' short  short ');
    expect(joinBodies(nothing, short)).toBe(short);
    expect(joinBodies(short, nothing)).toBe(short);
    expect(text(nothing, long())).toBe('long one');
  });

  test('ends with the trailers that the upstream ended with', () => {
    const exchange = begun({}, 'application/json');
    const completion = { choices: [{ message: { role: 'assistant', content: text }, finish_reason: 'stop' }] };
    bytesOf(bodyOf(exchange, JSON.stringify(completion)));
    const replies = [...exchange.handle({ type: 'response_trailers' })];
    expect(replies.at(-1)).toMatchObject({ type: 'response_trailers' });
    expect(replies.filter((reply) => reply.type === 'response_body' && reply.endOfStream)).toEqual([]);
    expect(JSON.parse(Buffer.concat(bytesOf(replies)).toString())).toMatchObject({ status: 'completed' });
  });

  test('costs less than half of itself while its end is sent, which is four times as long', () => {
    const exchange = begun({ stream: true }, 'text/event-stream');
    for (let index = 0; index < 6; index += 1)
      for (const _reply of bodyOf(exchange, chunk({ delta: { content: `${index}${text}` } })));
    const collect = takeCollector();
    const held = () => {
      collect();
      const { heapUsed, external } = process.memoryUsage();
      return heapUsed + external;
    };
    const before = held();
    let [most, sent, replies] = [0, 0, 0];
    const end = `${chunk({ delta: {}, finish_reason: 'stop' })}data: [DONE]\n\n`;
    for (const reply of bodyOf(exchange, end, true)) {
      sent += reply.type === 'response_body' ? (reply.body?.length ?? 0) : 0;
      replies += 1;
      if (replies % 40 === 0) most = Math.max(most, held() - before);
    }
    expect(sent).toBeGreaterThan(3.5 * 6 * text.length);
    expect(most).toBeLessThan(0.5 * 6 * text.length);
  });

  test('in JSON is too', () => {
    const exchange = begun({}, 'application/json');
    const completion = {
      choices: [{ index: 0, message: { role: 'assistant', content: text }, finish_reason: 'stop' }],
    };
    const replies = bodyOf(exchange, JSON.stringify(completion), true);
    expect(Array.isArray(replies)).toBe(false);
    const all = [...replies];
    expect(all[0]).toMatchObject({ type: 'response_headers', metadata: { outcome: 'completed' } });
    expect(all.at(-1)).toMatchObject({ type: 'response_body', endOfStream: true });
    const body = Buffer.concat(bytesOf(all));
    expect(JSON.parse(body.toString())).toMatchObject({ instructions, status: 'completed' });
    expect(exchange.summary().bytes.responseOut).toBe(body.length);
  });

  test('of a request with large parts holds them once, as bytes', () => {
    let held = 0;
    const hold: Hold = (bytes) => {
      held = bytes;
      return null;
    };
    begun({ stream: true }, 'text/event-stream', hold);
    const bytes = Buffer.byteLength(JSON.stringify(instructions));
    expect(held).toBeGreaterThanOrEqual(bytes);
    expect(held).toBeLessThan(bytes + 5000);
  });
});

describe('an answer that is given up for want of memory', () => {
  test('ends in few bytes, that say so', () => {
    const exchange = begun({ stream: true }, 'text/event-stream');
    bytesOf(bodyOf(exchange, chunk({ delta: { content: text } })));
    const end = Buffer.concat(bytesOf(exchange.shed(shortOfMemory) ?? [])).toString();
    expect(end.length).toBeLessThan(4000);
    const [error, failed, done] = dataOf(end);
    expect(error).toContain('server_overloaded');
    expect(JSON.parse(failed ?? '')).toMatchObject({
      type: 'response.failed',
      response: { status: 'failed', output: [], instructions: null, error: { code: 'server_overloaded' } },
    });
    expect(done).toBe('[DONE]');
    expect(exchange.summary().outcome).toBe('failed');
  });

  test('before its headers is the status it can still have', () => {
    const exchange = begun({}, 'application/json');
    expect(exchange.shed(shortOfMemory)).toMatchObject([{ type: 'response_headers' }, { type: 'response_body' }]);
    expect(exchange.summary().outcome).toBe('upstream_error');
  });

  test.each([true, false])('once it is complete ends as what it is: stream %s', (stream) => {
    const exchange = begun({ stream }, 'text/event-stream');
    const finished = `${chunk({ delta: { content: 'Hi' }, finish_reason: 'stop' })}data: [DONE]\n\n`;
    expect(Buffer.concat(bytesOf(bodyOf(exchange, finished))).toString()).toContain('"text":"Hi"');
    expect(exchange.shed(shortOfMemory)).toEqual([{ type: 'response_body', body: Buffer.alloc(0), endOfStream: true }]);
    expect(exchange.summary().outcome).toBe('completed');
  });

  test('is given up once', () => {
    const given = begun({ stream: true }, 'text/event-stream');
    bytesOf(given.shed(shortOfMemory) ?? []);
    expect(given.shed(shortOfMemory)).toBeNull();
  });

  test('keeps nothing, whatever it was', () => {
    const read = (reader: UpstreamBodyReader) => {
      reader.push(Buffer.from('{"data":'));
      expect(reader.state.bufferedBytes).toBe(8);
      reader.end(shortOfMemory, true);
      return [reader.state.bufferedBytes, reader.state.decision];
    };
    const limits = exchangeOptions().bodyLimits;
    const whole = {
      status: 200,
      contentType: null,
      retryAfter: null,
      context: createTestContext(),
      committed: false,
      mayReplaceStatus: true,
      limits,
    };
    expect(read(createPassedReader(() => null, MiB))).toEqual([0, shortOfMemory]);
    expect(read(createWholeBodyReader('json', whole))).toEqual([0, shortOfMemory]);
  });

  test('before the upstream has answered is left to the call', () => {
    const exchange = new Exchange(exchangeOptions({ modes }));
    expect(exchange.shed(shortOfMemory)).toBeNull();
  });
});
