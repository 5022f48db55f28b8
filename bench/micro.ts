/**
 * Prices of the pure core: CPU µs for one token or one message, without sockets. `node bench/micro.ts`; a comparison
 * (`npm run bench -- --compare REF`) runs it many times, for `--ms 30` each and only `--group exchange` or all but it.
 */

import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { loadSync, type MethodDefinition } from '@grpc/proto-loader';
import {
  deserializeRequest,
  Exchange,
  type ExchangeReply,
  encodeSseEvents,
  StreamTranslator,
  serializeReply,
} from '../src/filter/index.ts';
import { createContentDecoder } from '../src/formats/bytes/content-coding.ts';
import { readSseData } from '../src/formats/sse/data.ts';
import { SseDecoder } from '../src/formats/sse/sse-decoder.ts';
import { createTestContext } from '../test/support/context.ts';
import { exchangeOptions } from '../test/support/exchange-options.ts';
import type { ProcessingRequest } from '../test/support/generated/envoy/service/ext_proc/v3/ProcessingRequest.ts';
import {
  chunkOf,
  completionBody,
  eventsOf,
  headersMessage,
  requestBody,
  requestHeaders,
  responseHeaders,
  textDeltas,
} from './fixtures.ts';
import { tableOf } from './table.ts';

// Read here, since a comparison runs this file in trees whose tests have no such module.
const definitions = loadSync('envoy/service/ext_proc/v3/external_processor.proto', {
  includeDirs: [fileURLToPath(new URL('../proto', import.meta.url))],
  keepCase: true,
  enums: String,
});
const { Process: processMethod } = definitions['envoy.service.ext_proc.v3.ExternalProcessor'] as unknown as {
  readonly Process: MethodDefinition<object, object>;
};

/** A case prepares once, then does its work on `operations` tokens or messages each time it is called. */
interface Case {
  readonly group: string;
  readonly name: string;
  readonly operations: number;
  readonly work: () => void;
}

const streams = 100;
const perPiece = 64;
const limits = { maxEventBytes: 1 << 20 };
const deltas = textDeltas(perPiece);
const chunks = deltas.map((content) => chunkOf({ content }));
const parsed = chunks.map((chunk) => JSON.parse(chunk) as unknown);
const alone = chunks.map((chunk) => eventsOf([chunk]));
const together = eventsOf(chunks);
/** The fields that may carry a token, and what opens its item. */
const tokenKinds: readonly { name: string; opening: object; deltaOf: (text: string) => object }[] = [
  { name: 'text', opening: { content: 'a' }, deltaOf: (content) => ({ content }) },
  { name: 'reasoning', opening: { reasoning: 'a' }, deltaOf: (reasoning) => ({ reasoning }) },
  {
    name: 'arguments',
    opening: { tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: { name: 'f', arguments: '' } }] },
    deltaOf: (piece) => ({ tool_calls: [{ index: 0, function: { arguments: piece } }] }),
  },
];
const full = { request: 'BUFFERED', response: 'FULL_DUPLEX_STREAMED' } as const;

/** Results go here, so that the compiler cannot eliminate the work. */
let sink: unknown;

/** The best of several rounds: disturbances only add time. */
function microsecondsOf(work: () => void, operations: number, ms: number): number {
  const run = (forMs: number): number => {
    const begun = performance.now();
    const before = process.cpuUsage();
    let calls = 0;
    while (performance.now() - begun < forMs) {
      work();
      calls += 1;
    }
    const { user, system } = process.cpuUsage(before);
    return (user + system) / (calls * operations);
  };
  run(2 * ms);
  return Math.min(...Array.from({ length: 5 }, () => run(ms)));
}

function cases(): Case[] {
  return [...wireCases(), ...streamCases(), ...wholeCases()];
}

function wireCases(): Case[] {
  const piece = alone[0] as Buffer;
  const messages: readonly [string, ProcessingRequest][] = [
    ['a body of one token', { response_body: { body: piece, end_of_stream: false } }],
    ['14 headers', headersMessage('request', requestHeaders)],
  ];
  const replies: readonly [string, ExchangeReply][] = [
    ['a body of one token', { type: 'response_body', body: piece, endOfStream: false }],
    [
      'a body and headers',
      {
        type: 'request_body',
        body: piece,
        headers: { set: { ':path': '/v1/chat/completions', 'content-length': '1234' }, remove: ['accept-encoding'] },
        endOfStream: true,
      },
    ],
  ];
  return [
    ...messages.flatMap(([name, message]): Case[] => {
      const bytes = processMethod.requestSerialize(message);
      return [
        caseOf('ext_proc', `read ${name}, protobufjs`, 1, () => processMethod.requestDeserialize(bytes)),
        caseOf('ext_proc', `read ${name}, by hand`, 1, () => deserializeRequest(bytes)),
      ];
    }),
    ...replies.flatMap(([name, reply]): Case[] => {
      const message = processMethod.responseDeserialize(serializeReply(reply, full));
      return [
        caseOf('ext_proc', `write ${name}, protobufjs`, 1, () => processMethod.responseSerialize(message)),
        caseOf('ext_proc', `write ${name}, by hand`, 1, () => serializeReply(reply, full)),
      ];
    }),
  ];
}

function streamCases(): Case[] {
  const decoder = new SseDecoder(limits);
  const plain = createContentDecoder([]);
  let translator = new StreamTranslator(createTestContext());
  let pushed = 0;
  const events = [...translator.push(parsed[0]), ...translator.push(parsed[1])].slice(-1);
  const exchanges = createRing(() => openExchange(true));
  return [
    caseOf('stream', 'JSON.parse of a chunk: the floor', perPiece, () => chunks.map((chunk) => JSON.parse(chunk))),
    caseOf('stream', 'SSE decode, a token a piece', perPiece, () => alone.map((bytes) => decoder.push(bytes))),
    caseOf('stream', `SSE decode, ${perPiece} tokens a piece`, perPiece, () => decoder.push(together)),
    caseOf('stream', 'SSE data read', perPiece, () => chunks.map(readSseData)),
    caseOf('stream', 'translate a parsed chunk', perPiece, () => {
      // A stream grows, and its cost may depend on its contents.
      if (++pushed % 64 === 0) translator = new StreamTranslator(createTestContext());
      return parsed.map((chunk) => translator.push(chunk));
    }),
    ...tokenKinds.map(({ name, opening, deltaOf }) => {
      const translate = createJsonTranslation([opening, deltaOf('a')].map(chunkOf));
      const tokens = deltas.map((delta) => chunkOf(deltaOf(delta)));
      return caseOf('stream', `translate the JSON of a token of ${name}`, perPiece, () => translate(tokens));
    }),
    caseOf('stream', 'encode a delta event', 1, () => encodeSseEvents(events)),
    caseOf('stream', 'content-encoding: identity', 1, () => plain?.push(together)),
    caseOf('stream', `exchange, a token a piece, ${streams} streams in turn`, perPiece, () =>
      alone.map((body) => [...exchanges.next().handle({ type: 'response_body', body, endOfStream: false })]),
    ),
    caseOf('stream', `exchange, ${perPiece} tokens a piece, ${streams} streams in turn`, perPiece, () => [
      ...exchanges.next().handle({ type: 'response_body', body: together, endOfStream: false }),
    ]),
  ];
}

/** A stream that begins with `opening` and is replaced before it grows long. Parses only where it must, as an exchange does. */
function createJsonTranslation(opening: readonly string[]): (jsons: readonly string[]) => unknown[] {
  let calls = 0;
  let translator = new StreamTranslator(createTestContext({ toolNames: ['f'] }));
  const push = (json: string) => translator.pushRawJson(json) ?? translator.push(JSON.parse(json), null, json);
  return (jsons) => {
    if (calls++ % 64 === 0) {
      translator = new StreamTranslator(createTestContext({ toolNames: ['f'] }));
      opening.forEach(push);
    }
    return jsons.map(push);
  };
}

function wholeCases(): Case[] {
  const completion = completionBody(512);
  const answered = (stream: boolean, body: Buffer) => () => {
    const exchange = openExchange(stream);
    sink = [...exchange.handle({ type: 'response_body', body, endOfStream: true })];
    return exchange.summary();
  };
  const stream = Buffer.concat([together, Buffer.from('data: [DONE]\n\n')]);
  return [
    caseOf('exchange', 'opened: headers both ways, small request', 1, () => openExchange(true)),
    caseOf('exchange', 'whole, JSON answer of 512 bytes', 1, answered(false, completion)),
    caseOf('exchange', `whole, stream of ${perPiece} tokens in one piece`, 1, answered(true, stream)),
  ];
}

function caseOf(group: string, name: string, operations: number, work: () => unknown): Case {
  return {
    group,
    name,
    operations,
    work: () => {
      sink = work();
    },
  };
}

/** Many concurrent streams: what a token needs is seldom in the processor's cache. They are replaced before they grow long. */
function createRing(open: () => Exchange): { next(): Exchange } {
  let ring = Array.from({ length: streams }, open);
  let turns = 0;
  return {
    next() {
      turns += 1;
      if (turns % (streams * 200) === 0) ring = Array.from({ length: streams }, open);
      return ring[turns % streams] as Exchange;
    },
  };
}

/** A service has them once, not for each exchange. */
const options = exchangeOptions();

function openExchange(stream: boolean): Exchange {
  const exchange = new Exchange(options);
  const contentType = stream ? 'text/event-stream' : 'application/json';
  exchange.handle({ type: 'request_headers', headers: new Map(requestHeaders), endOfStream: false });
  exchange.handle({ type: 'request_body', body: stream ? streamRequest : jsonRequest, endOfStream: true });
  const headers = new Map([...responseHeaders, ['content-type', contentType]] as [string, string][]);
  exchange.handle({ type: 'response_headers', headers, endOfStream: false });
  return exchange;
}

const streamRequest = requestBody(true);
const jsonRequest = requestBody(false);

const { values } = parseArgs({
  options: { ms: { type: 'string', default: '150' }, group: { type: 'string', multiple: true } },
});
// Each case runs for five times `ms`, after twice that to warm up.
const rows = cases()
  .filter(({ group }) => values.group === undefined || values.group.includes(group))
  .map(({ group, name, operations, work }) => [group, name, microsecondsOf(work, operations, Number(values.ms))]);
console.log(tableOf(['part', 'what', 'CPU µs each'], rows));
if (sink === undefined) throw new Error('Nothing was measured.');
