import { randomBytes } from 'node:crypto';
import { brotliCompressSync, constants, gzipSync, zstdCompressSync } from 'node:zlib';
import type { BodyModes } from '../../src/filter/exchange/types.ts';
import type { ExtProcCall, ExtProcClient } from '../support/extproc-client.ts';
import { sendRequest } from '../support/scripted-exchange.ts';

/** Attacks, leaves its calls open, and resolves when all of it is sent. Nothing in it rejects. */
export type Attack = (client: ExtProcClient, calls: ExtProcCall[]) => Promise<unknown>;

const MB = 1_000_000;
const stream = { model: 'm', input: 'Hi', stream: true };
const gzip = { 'content-encoding': 'gzip' };
const duplex: BodyModes = { request: 'FULL_DUPLEX_STREAMED', response: 'FULL_DUPLEX_STREAMED' };
const eventStream = { ':status': '200', 'content-type': 'text/event-stream' };
const json = { ':status': '200', 'content-type': 'application/json' };

const text = (bytes: number) => 'lorem ipsum dolor '.repeat(Math.ceil(bytes / 18)).slice(0, bytes);
/** What does not compress, so that the ratio is that of text. */
const noise = (bytes: number) => randomBytes(bytes * 0.75).toString('base64');
const keys = (count: number, length: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`${index}`.padEnd(length, 'k'), 1]));
const tool = (parameters: object) => ({ type: 'function', name: 'f', parameters });
const chunk = (choice: object) => `data: ${JSON.stringify({ model: 'm', choices: [{ index: 0, ...choice }] })}\n\n`;
const delta = (fields: object, rest: object = {}) => chunk({ delta: fields, ...rest });
const times = (count: number) => Array.from({ length: count }, (_, index) => index);

/** A call whose request the service has answered with a translated body or a refusal. */
async function open(
  client: ExtProcClient,
  calls: ExtProcCall[],
  body: object | Buffer,
  headers: Readonly<Record<string, string>> = {},
): Promise<ExtProcCall | null> {
  try {
    const bytes = Buffer.isBuffer(body) ? body : JSON.stringify(body);
    const { call, last } = await sendRequest(client, bytes, { headers });
    if (last.immediate_response !== undefined) {
      call.cancel();
      return null;
    }
    calls.push(call);
    return call;
  } catch {
    return null;
  }
}

/** So many calls at once with this request; `goOn` with each that is taken. */
function openAll(
  [client, calls]: Parameters<Attack>,
  count: number,
  body: object | Buffer,
  goOn: (call: ExtProcCall) => Promise<void> | void,
  headers: Readonly<Record<string, string>> = {},
): Promise<unknown> {
  return Promise.all(
    times(count).map(async () => {
      const call = await open(client, calls, body, headers);
      if (call !== null) await goOn(call);
    }),
  );
}

/** So many calls at once of which the service gets these headers; `goOn` with each. */
function openHeaders(
  [client, calls]: Parameters<Attack>,
  count: number,
  headers: Readonly<Record<string, string>>,
  endOfStream: boolean,
  goOn: (call: ExtProcCall) => Promise<void>,
): Promise<unknown> {
  return Promise.all(
    times(count).map(async () => {
      const call = client.open(duplex);
      calls.push(call);
      call.send({ type: 'request_headers', headers: new Map(Object.entries(headers)), endOfStream });
      await goOn(call);
    }),
  );
}

function answerHeaders(call: ExtProcCall, headers: Readonly<Record<string, string>>): void {
  call.send({ type: 'response_headers', headers: new Map(Object.entries(headers)), endOfStream: false });
}

/** Bytes that the proxy passes on at once. */
const pieceBytes = 60_000;

/** A whole answer in JSON, in pieces. */
function sendAnswer(call: ExtProcCall, body: Buffer): void {
  answerHeaders(call, json);
  for (let at = 0; at < body.length; at += pieceBytes)
    call.send({
      type: 'response_body',
      body: body.subarray(at, at + pieceBytes),
      endOfStream: at + pieceBytes >= body.length,
    });
}

/** Sends what `next` gives, one after the other, until it is so many bytes or the call is over; `wait`s after each. */
async function sendUntil(
  call: ExtProcCall,
  type: 'request_body' | 'response_body',
  bytes: number,
  next: () => Buffer,
  wait: () => Promise<unknown>,
): Promise<void> {
  let over = false;
  void call.status.then(() => {
    over = true;
  });
  for (let sent = 0; sent < bytes && !over; ) {
    const body = next();
    sent += body.length;
    call.send({ type, body, endOfStream: false });
    await wait();
  }
}

/** The bodies, all at once; each that is taken gets the beginning of a stream, and is kept open. */
function bodies(count: number, make: () => object | Buffer, headers: Readonly<Record<string, string>> = {}): Attack {
  return (...to) => {
    const made = make();
    const body = Buffer.isBuffer(made) ? made : Buffer.from(JSON.stringify(made));
    const begin = (call: ExtProcCall) => {
      answerHeaders(call, eventStream);
      call.send({ type: 'response_body', body: Buffer.from(delta({ content: 'Hi' })), endOfStream: false });
    };
    return openAll(to, count, body, begin, headers);
  };
}

/** Streams at once, each of so many bytes from its upstream unless it ends before; the client takes all of it, or none. */
function streams(
  count: number,
  bytes: number,
  of: (index: number) => string,
  { reads = true, request = stream as object } = {},
): Attack {
  return (...to) =>
    openAll(to, count, request, async (call) => {
      if (!reads) call.pause();
      answerHeaders(call, eventStream);
      let index = 0;
      const burst = () => {
        let text = '';
        while (text.length < pieceBytes) text += of(index++);
        return Buffer.from(text);
      };
      const pause = (ms: number) => new Promise<null>((resolve) => setTimeout(resolve, ms, null));
      const reply = (ms: number) => Promise.race([call.next().catch(() => null), pause(ms)]);
      // All that comes back, so that each stream has its turn; of some bursts nothing does.
      const taken = async () => {
        if (!reads) await pause(5);
        else for (let one = await reply(100); one !== null; one = await reply(2));
      };
      await sendUntil(call, 'response_body', bytes, burst, taken);
    });
}

/** Requests that are answered by one large JSON. */
function answers(
  count: number,
  request: object,
  answer: () => object,
  { path = '/v1/responses', reads = true } = {},
): Attack {
  return (...to) => {
    const body = Buffer.from(JSON.stringify(answer()));
    const send = (call: ExtProcCall) => {
      if (!reads) call.pause();
      sendAnswer(call, body);
    };
    return openAll(to, count, request, send, { ':path': path });
  };
}

/** Streams of comments, compressed like this, that go on when all of it has come. */
function compressed(count: number, coding: string, megabytes: number, compress: (bytes: Buffer) => Buffer): Attack {
  return (...to) => {
    // As long on the wire as a compressed answer may be.
    const comments = times(10 * megabytes).map(() => `: ${noise(1000)}${'x'.repeat(99_000)}\n\n`);
    const body = compress(Buffer.from(comments.join('')));
    return openAll(to, count, stream, async (call) => {
      answerHeaders(call, { ...eventStream, 'content-encoding': coding });
      const pieces = times(Math.ceil(body.length / pieceBytes)).map((at) =>
        body.subarray(at * pieceBytes, (at + 1) * pieceBytes),
      );
      const next = () => pieces.shift() ?? Buffer.alloc(0);
      const pause = () => new Promise((resolve) => setTimeout(resolve, 20));
      await sendUntil(call, 'response_body', body.length, next, pause);
    });
  };
}

const completion = (content: string) => ({
  model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
});
/** Its bytes are left out, as llama.cpp does: others than those of the text would be of a token that is not the answer's. */
const token = (index: number) => ({ token: `word${index}`, logprob: -1.5 - index });

/** By what comes; docs/operating.md has a recorded run. The first seven have ended a process of this service before it kept one account of all it holds. */
export const attacks: Readonly<Record<string, Attack>> = {
  'gzip of 9 MB of instructions, streams kept open': bodies(
    43,
    () => gzipSync(JSON.stringify({ ...stream, instructions: `${noise(64_000)}${'x'.repeat(9 * MB)}` })),
    gzip,
  ),
  'gzip of a tool with 90,000 long keys': bodies(
    79,
    () => gzipSync(JSON.stringify({ ...stream, tools: [tool(keys(90_000, 90))] })),
    gzip,
  ),
  '9 MB of instructions': bodies(108, () => ({ ...stream, instructions: text(9 * MB) })),
  '9 MB of input': bodies(59, () => ({ ...stream, input: text(9 * MB) })),
  'gzip of a tool with 90,000 short keys': bodies(
    105,
    () => gzipSync(JSON.stringify({ ...stream, tools: [tool(keys(90_000, 1))] })),
    gzip,
  ),
  'logprobs without end': streams(
    30,
    25 * MB,
    (index) =>
      delta(
        { content: `word${index}` },
        { logprobs: { content: [{ ...token(index), top_logprobs: [token(index + 1), token(index + 2)] }] } },
      ),
    { request: { ...stream, top_logprobs: 2 } },
  ),
  'clients that never read': streams(100, 8 * MB, () => delta({ content: 'x' }), {
    reads: false,
    request: { ...stream, instructions: text(2 * MB) },
  }),
  'a format of 90,000 keys': bodies(60, () => ({
    ...stream,
    text: { format: { type: 'json_schema', name: 'f', schema: { type: 'object', properties: keys(90_000, 60) } } },
  })),
  'long ends of streams that nobody reads': (client, calls) =>
    streams(40, 9 * MB, (index) => delta({ content: text(20_000 + index) }), { reads: false })(client, calls).then(
      () => {
        for (const call of calls)
          call.send({
            type: 'response_body',
            body: Buffer.from(`${chunk({ delta: {}, finish_reason: 'stop' })}data: [DONE]\n\n`),
            endOfStream: true,
          });
      },
    ),
  'arguments of calls without end': streams(40, 15 * MB, (index) =>
    delta({
      tool_calls: [
        {
          index: index % 2,
          ...(index < 2 && { id: `c${index}` }),
          function: { ...(index < 2 && { name: 'f' }), arguments: index < 2 ? '{"a":"' : text(400) },
        },
      ],
    }),
  ),
  'reasoning details with keys of their own': streams(30, 20 * MB, (index) =>
    delta({ reasoning_details: [{ type: 'reasoning.text', [`key-${index}-${'k'.repeat(60)}`]: 1 }] }),
  ),
  'answers of 9 MB in JSON': answers(60, { model: 'm', input: 'Hi' }, () => completion(text(9 * MB)), {
    reads: false,
  }),
  'compactions of 9 MB': answers(40, { model: 'm', input: text(4 * MB) }, () => completion(text(9 * MB)), {
    path: '/v1/responses/compact',
  }),
  'catalogs of 9 MB': (...to) => {
    const body = Buffer.from(
      JSON.stringify({ object: 'list', data: times(60_000).map((index) => ({ id: `m${index}`, note: text(110) })) }),
    );
    const headers = { ':method': 'GET', ':path': '/v1/models?client_version=1.0.0' };
    return openHeaders(to, 60, headers, true, async (call) => {
      await call.next().catch(() => null);
      sendAnswer(call, body);
    });
  },
  'bodies that never end': (...to) => {
    const piece = Buffer.from(text(pieceBytes));
    const headers = { ':method': 'POST', ':path': '/v1/responses', 'content-type': 'application/json' };
    const pause = () => new Promise((resolve) => setTimeout(resolve, 5));
    return openHeaders(to, 150, headers, false, (call) => sendUntil(call, 'request_body', 8 * MB, () => piece, pause));
  },
};

/** What closed the service to everybody, without anybody who held much: uncounted, or as many that hold little. */
export const smallHolderAttacks: Readonly<Record<string, Attack>> = {
  'gzip of 250 unknown keys of 36,000 characters': bodies(
    84,
    () => gzipSync(JSON.stringify({ ...stream, instructions: noise(64_000), ...keys(250, 36_000) })),
    gzip,
  ),
  'requests of 240 kB that stay': bodies(2400, () => ({ ...stream, instructions: text(240_000) })),
};

/** Answers whose decoders keep much: a process was ended by ten. */
export const windowAttacks: Readonly<Record<string, Attack>> = {
  'windows of 128 MiB in zstd': compressed(10, 'zstd', 150, (bytes) =>
    zstdCompressSync(bytes, { params: { [constants.ZSTD_c_windowLog]: 27 } }),
  ),
  'windows of 16 MiB in brotli': compressed(40, 'br', 20, (bytes) =>
    brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_LGWIN]: 24, [constants.BROTLI_PARAM_QUALITY]: 5 } }),
  ),
};
