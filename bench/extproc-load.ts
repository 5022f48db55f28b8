/**
 * Plays Envoy's side of ext_proc and nothing else: `node bench/extproc-load.ts '{"targets": …}'` keeps a number of
 * exchanges running on one connection to each target, and prints one line of JSON. It waits for the replies to every message
 * and counts them; an exchange fails if its replies differ in number, or much in size, from those of `Exchange` itself.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Exchange } from '../src/filter/exchange/exchange.ts';
import type { ExchangeEvent } from '../src/filter/exchange/types.ts';
import type { ProcessingRequest } from '../src/filter/extproc/generated/envoy/service/ext_proc/v3/ProcessingRequest.ts';
import { processMethod } from '../src/filter/extproc/messages.ts';
import { serializeReply } from '../src/filter/extproc/serialize-reply.ts';
import { newId } from '../src/service/server/ids.ts';
import { frameHeadBytes } from '../src/service/server/message-frames.ts';
import { defaultModes, exchangeOptions } from '../test/support/exchange-options.ts';
import { messageOf } from '../test/support/extproc-client.ts';
import {
  chunkOf,
  completionBody,
  eventsOf,
  requestBody,
  requestHeaders,
  responseHeaders,
  textDeltas,
} from './fixtures.ts';
import { connectHttp2, type Http2Client, messageRoom } from './http2-client.ts';

/** `paced`: a token every 20 ms; `token`: the next one when the last is answered; `burst`: 64 tokens to a message. */
export type Shape = 'paced' | 'token' | 'burst' | 'json' | 'history';

export interface ExtProcLoadOptions {
  readonly targets: readonly { readonly host: string; readonly port: number }[];
  readonly shape: Shape;
  /** Exchanges at a time on each connection. */
  readonly streams: number;
  readonly seconds: number;
}

export interface ExtProcLoadReport {
  /** Complete exchanges. */
  readonly exchanges: number;
  readonly messages: number;
  readonly tokens: number;
  readonly failures: readonly string[];
  readonly seconds: number;
  /** From a message to its last reply; of `json` and `history` from an exchange's first message to its last reply. */
  readonly latencyMs: { readonly p50: number; readonly p99: number };
  /** Share of one core that the load itself used. */
  readonly cpuSeconds: number;
}

/** A message as Envoy sends it, and how many replies the service gives to it. */
interface Step {
  readonly message: Buffer;
  readonly replies: number;
  readonly replyBytes: number;
  readonly tokens: number;
}

const pauseMs = 20;
const tokensOf = { paced: 250, token: 250, burst: 256, json: 0, history: 0 } as const;
const tokensPerMessage = { paced: 1, token: 1, burst: 64, json: 0, history: 0 } as const;
const historyBytes = 256_000;

const chunkHead =
  '"id":"chatcmpl-0123456789abcdef","object":"chat.completion.chunk","created":1700000000,"model":"example-model"';
const closingChunk = `{${chunkHead},"choices":[{"index":0,"delta":{},"logprobs":null,"finish_reason":"stop"}]}`;
const usageChunk = `{${chunkHead},"choices":[],"usage":{"prompt_tokens":1234,"completion_tokens":256,"total_tokens":1490}}`;

const options = JSON.parse(process.argv[2] ?? '{}') as ExtProcLoadOptions;
const isStream = tokensOf[options.shape] > 0;
const steps = stepsOf(options.shape);
const replyBytes = steps.reduce((sum, step) => sum + step.replyBytes, 0);
const latencies: number[] = [];
const failures: string[] = [];
let exchanges = 0;
let messages = 0;
let tokens = 0;

const path = processMethod.path;
const clients = await Promise.all(options.targets.map((target) => connectHttp2(target, path)));
const began = performance.now();
const cpuBefore = process.cpuUsage();
const until = began + options.seconds * 1000;
await Promise.all(clients.flatMap((client) => Array.from({ length: options.streams }, () => exchangesOn(client))));
const { user, system } = process.cpuUsage(cpuBefore);
const seconds = (performance.now() - began) / 1000;
for (const client of clients) client.close();
latencies.sort((a, b) => a - b);
const report: ExtProcLoadReport = {
  ...{ exchanges, messages, tokens, failures: failures.slice(0, 10), seconds },
  latencyMs: { p50: quantile(0.5), p99: quantile(0.99) },
  cpuSeconds: (user + system) / 1e6,
};
console.log(JSON.stringify(report));

/** One exchange after the other, until the time is up; the last one, if it is a stream, is cut off after a token. */
async function exchangesOn(client: Http2Client): Promise<void> {
  // Streams that began together would send their tokens at the same moments.
  if (options.shape === 'paced') await sleep(Math.random() * pauseMs);
  while (performance.now() < until) {
    const failure = await exchangeOn(client);
    if (failure === null) continue;
    failures.push(failure);
    if (failures.length > 100) return;
  }
}

/** Runs one exchange; returns what was wrong with it. */
function exchangeOn(client: Http2Client): Promise<string | null> {
  return new Promise((resolve) => {
    const startedAt = performance.now();
    let sentAt = startedAt;
    let dueAt = startedAt;
    let index = 0;
    let missing = 0;
    let received = 0;
    const end = (failure: string | null) => {
      stream.reset();
      resolve(failure);
    };
    const stream = client.open({
      message(bytes) {
        missing -= 1;
        received += bytes;
        if (missing > 0) return;
        if (missing < 0) return end(`an unexpected reply to message ${index + 1} of ${steps.length}`);
        answered();
      },
      ended: (reason) => end(`message ${index + 1} of ${steps.length}: ${reason}`),
    });
    const send = () => {
      const step = steps[index] as Step;
      missing = step.replies;
      sentAt = performance.now();
      stream.send(step.message);
      // Does not wait: Envoy would send the next message too.
      if (missing === 0) answered();
    };
    const answered = () => {
      const now = performance.now();
      const step = steps[index] as Step;
      messages += 1;
      tokens += step.tokens;
      if (isStream && step.tokens > 0) latencies.push(now - sentAt);
      index += 1;
      if (index === steps.length) {
        // Ids and times differ, and little else.
        if (Math.abs(received / replyBytes - 1) > 0.1) return end(`${received} bytes of replies, not ${replyBytes}`);
        if (!isStream) latencies.push(now - startedAt);
        exchanges += 1;
        end(null);
      } else if (step.tokens > 0 && now >= until) end(null);
      else if (options.shape === 'paced' && step.tokens > 0) {
        dueAt = Math.max(dueAt + pauseMs, now - pauseMs);
        setTimeout(send, dueAt - now);
      } else {
        if (options.shape === 'paced') dueAt = now;
        send();
      }
    };
    send();
  });
}

/** The messages of one exchange. The number of replies to each is that of the product's own `Exchange`. */
function stepsOf(shape: Shape): Step[] {
  const bodyLimits = { ...exchangeOptions().bodyLimits, maxRequestBytes: 64 << 20 };
  const exchange = new Exchange(
    exchangeOptions({ bodyLimits, clock: { now: () => Math.floor(Date.now() / 1000), newId } }),
  );
  return eventsFor(shape).map(({ event, tokens: tokensOfStep }, index) => {
    const first = {
      protocol_config: { request_body_mode: defaultModes.request, response_body_mode: defaultModes.response },
    };
    const message = { ...messageOf(event), ...(index === 0 ? first : {}) } as ProcessingRequest;
    const bytes = processMethod.requestSerialize(message);
    const room = Buffer.alloc(messageRoom);
    // `metadata_context`, empty: in every message of Envoy's.
    const framed = Buffer.concat([room, bytes, Buffer.from([0x42, 0])]);
    const replies = exchange.handle(event).map((reply) => serializeReply(reply, defaultModes).length - frameHeadBytes);
    const size = replies.reduce((sum, bytesOfReply) => sum + bytesOfReply, 0);
    return { message: framed, replies: replies.length, replyBytes: size, tokens: tokensOfStep };
  });
}

function eventsFor(shape: Shape): { event: ExchangeEvent; tokens: number }[] {
  const headers = responseHeaders.map(
    ([name, value]) => [name, name === 'content-type' && !isStream ? 'application/json' : value] as const,
  );
  const request = requestBody(isStream, shape === 'history' ? historyBytes : 0);
  const opening: ExchangeEvent[] = [
    { type: 'request_headers', headers: new Map(requestHeaders), endOfStream: false },
    { type: 'request_body', body: request, endOfStream: true },
    { type: 'response_headers', headers: new Map(headers), endOfStream: false },
  ];
  const body = (bytes: Buffer, endOfStream: boolean): ExchangeEvent => ({
    type: 'response_body',
    body: bytes,
    endOfStream,
  });
  const silent = (event: ExchangeEvent) => ({ event, tokens: 0 });
  if (!isStream) return [...opening, body(completionBody(512), true)].map(silent);
  const each = tokensPerMessage[shape];
  const chunks = textDeltas(tokensOf[shape]).map((content) => chunkOf({ content }));
  const pieces = Array.from({ length: chunks.length / each }, (_, index) =>
    eventsOf(chunks.slice(index * each, (index + 1) * each)),
  );
  const closing = Buffer.concat([eventsOf([closingChunk, usageChunk]), Buffer.from('data: [DONE]\n\n')]);
  return [
    ...opening.map(silent),
    silent(body(eventsOf([chunkOf({ role: 'assistant', content: '' })]), false)),
    ...pieces.map((piece) => ({ event: body(piece, false), tokens: each })),
    silent(body(closing, false)),
    silent(body(Buffer.alloc(0), true)),
  ];
}

function quantile(part: number): number {
  return latencies[Math.min(latencies.length - 1, Math.floor(part * latencies.length))] ?? Number.NaN;
}
