import { afterEach, describe, expect, test } from 'vitest';
import type { BodyModes, ExchangeEvent } from '../../src/filter/exchange/types.ts';
import { headersOf } from '../support/exchange-options.ts';
import type { ExtProcCall } from '../support/extproc-client.ts';
import type { ProcessingResponse__Output as ProcessingResponse } from '../support/generated/envoy/service/ext_proc/v3/ProcessingResponse.ts';
import { type RunningService, startService } from '../support/service.ts';

/**
 * Proxies other than Envoy, as docs/other-proxies.md has them configured, played by a plain
 * client: which modes they use, whether they say so, how bodies are cut, where the end is said.
 */
interface Proxy {
  readonly name: string;
  readonly modes: BodyModes;
  /** Whether the first message tells the modes; else the service has to be told. */
  readonly tells: boolean;
  /** Where full duplex says that a body is over: with its last bytes, an empty piece, or by trailers. */
  readonly end: 'with bytes' | 'empty' | 'trailers';
}
const duplex = 'FULL_DUPLEX_STREAMED';
const proxies: readonly Proxy[] = [
  { name: 'agentgateway', modes: { request: 'BUFFERED', response: duplex }, tells: true, end: 'with bytes' },
  { name: 'agentgateway', modes: { request: duplex, response: duplex }, tells: true, end: 'empty' },
  { name: 'agentgateway', modes: { request: duplex, response: duplex }, tells: true, end: 'trailers' },
  { name: 'Google Cloud', modes: { request: duplex, response: duplex }, tells: false, end: 'empty' },
  { name: 'Google Cloud', modes: { request: duplex, response: duplex }, tells: false, end: 'trailers' },
  { name: 'Google Cloud', modes: { request: 'STREAMED', response: 'STREAMED' }, tells: false, end: 'with bytes' },
];

let running: RunningService;
afterEach(() => running.stop());

const input = 'A long prompt. '.repeat(1000);
const request = Buffer.from(JSON.stringify({ model: 'm', input, stream: true }));
const words = Array.from({ length: 20 }, (_, index) => `word${index} `);
const data = (fields: object): string => `data: ${JSON.stringify({ choices: [{ index: 0, ...fields }] })}\n\n`;
const answer = Buffer.from(
  [
    ...words.map((content) => data({ delta: { content } })),
    data({ delta: {}, finish_reason: 'stop' }),
    'data: [DONE]\n\n',
  ].join(''),
);

/** A body as the proxy sends it, and the trailers after it where they say its end. */
function eventsOf(leg: 'request' | 'response', body: Buffer, mode: string, end: Proxy['end']): ExchangeEvent[] {
  const type = `${leg}_body` as const;
  if (mode === 'BUFFERED') return [{ type, body, endOfStream: true }];
  const pieces: ExchangeEvent[] = [];
  for (let at = 0; at < body.length; at += 1000) {
    const endOfStream = end === 'with bytes' && at + 1000 >= body.length;
    pieces.push({ type, body: body.subarray(at, at + 1000), endOfStream });
  }
  if (end === 'empty') pieces.push({ type, body: Buffer.alloc(0), endOfStream: true });
  if (end === 'trailers') pieces.push({ type: `${leg}_trailers` } as ExchangeEvent);
  return pieces;
}

/** The bytes of a reply, and whether they are the last. */
function pieceOf(reply: ProcessingResponse): { text: string; last: boolean } {
  if (reply.request_trailers !== undefined || reply.response_trailers !== undefined) return { text: '', last: true };
  const mutation = (reply.request_body ?? reply.response_body)?.response?.body_mutation;
  const piece = mutation?.streamed_response;
  if (piece !== undefined && piece !== null)
    return { text: Buffer.from(piece.body ?? []).toString(), last: piece.end_of_stream === true };
  return { text: Buffer.from(mutation?.body ?? []).toString(), last: false };
}

/** Sends the events of a leg and reads until its end: each reply to a piece in STREAMED and BUFFERED, any number else. */
async function leg(call: ExtProcCall, events: readonly ExchangeEvent[], mode: string): Promise<string> {
  let text = '';
  for (const event of events) {
    call.send(event);
    if (mode !== duplex) text += pieceOf(await call.next()).text;
  }
  for (let last = mode !== duplex; !last; ) {
    const piece = pieceOf(await call.next());
    text += piece.text;
    last = piece.last;
  }
  return text;
}

describe.each(proxies)('$name, $modes.request/$modes.response, tells: $tells, end: $end', ({ modes, tells, end }) => {
  test('a stream is translated both ways', async () => {
    const environment = { REQUEST_BODY_MODE: modes.request, RESPONSE_BODY_MODE: modes.response };
    running = await startService(tells ? {} : environment);
    const call = running.client.open(tells ? modes : null);
    const headers = { ':method': 'POST', ':path': '/v1/responses', 'content-type': 'application/json' };
    call.send({ type: 'request_headers', headers: headersOf(headers), endOfStream: false });
    if (modes.request !== duplex) await call.next();
    const sent = await leg(call, eventsOf('request', request, modes.request, end), modes.request);
    expect(JSON.parse(sent)).toMatchObject({ messages: [{ role: 'user', content: input }], stream: true });

    const status = { ':status': '200', 'content-type': 'text/event-stream' };
    call.send({ type: 'response_headers', headers: headersOf(status), endOfStream: false });
    if (modes.response !== duplex) await call.next();
    const received = await leg(call, eventsOf('response', answer, modes.response, end), modes.response);
    expect(received).toContain('event: response.completed');
    const deltas = [...received.matchAll(/^data: (.*"response\.output_text\.delta".*)$/gm)];
    expect(deltas.map(([, json = '']) => JSON.parse(json).delta).join('')).toBe(words.join(''));
    call.cancel();
  });
});
