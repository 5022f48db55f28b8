/**
 * Whether each fast path still pays: it does the same work as the general path, so both are measured alternately in one
 * process (`npm run bench -- --only pairs`). A test compares the recorded figures, and fails when a fast path is no longer
 * worth its code.
 */
import type { z } from 'zod';
import { routeOf } from '../src/filter/exchange/request/route.ts';
import { decodeRequest } from '../src/filter/extproc/decode.ts';
import { deserializeRequest } from '../src/filter/extproc/deserialize-request.ts';
import { encodeReply } from '../src/filter/extproc/encode.ts';
import { processMethod } from '../src/filter/extproc/messages.ts';
import { serializeReply } from '../src/filter/extproc/serialize-reply.ts';
import { StreamTranslator } from '../src/filter/translate/stream.ts';
import {
  functionCallItem,
  functionTool,
  messageItem,
  toolOutputItem,
} from '../src/filter/wire/schema/create-response.ts';
import { passesFastCheck } from '../src/filter/wire/schema/fast-check.ts';
import { encodeSseEvents } from '../src/filter/wire/sse/encode.ts';
import { createLineWriter, createLog } from '../src/service/telemetry/log.ts';
import { Redactor } from '../src/tools/redact/redactor.ts';
import { createTestContext } from '../test/support/context.ts';
import { chunkOf, eventsOf, requestHeaders, textDeltas } from './fixtures.ts';
import type { Cell } from './table.ts';

export interface FastPath {
  /** Files of `src/` that it is in. */
  readonly files: readonly string[];
  readonly work: string;
  /** The general path must cost this many times as much, or the fast path is removed. */
  readonly least: number;
  /** Both paths, doing the work `operations` times. */
  readonly prepare: () => {
    readonly operations: number;
    readonly general: () => unknown;
    readonly fast: () => unknown;
  };
}

export const pairHeadings = ['work', 'general, CPU µs', 'fast, CPU µs', 'times as much'];

/** Fast paths that no run can switch off, by file of `src/`, with the reason. */
export const unpaired: Readonly<Record<string, string>> = {
  'service/server/grpc-call.ts': 'grpc-js’s own calls have another interface; docs/performance.md has what they cost',
};

const tokens = textDeltas(64);
const chunks = tokens.map((content) => chunkOf({ content }));
const oneToken = eventsOf(chunks.slice(0, 1));

export const fastPaths: readonly FastPath[] = [
  {
    files: ['filter/extproc/deserialize-request.ts'],
    work: 'read a body of one token',
    least: 1.5,
    prepare() {
      const bytes = processMethod.requestSerialize({ response_body: { body: oneToken, end_of_stream: false } });
      return {
        operations: 1,
        general: () => decodeRequest(processMethod.requestDeserialize(bytes)),
        fast: () => deserializeRequest(bytes),
      };
    },
  },
  {
    files: ['filter/extproc/serialize-reply.ts'],
    work: 'write a body of one token',
    least: 1.5,
    prepare() {
      const modes = { request: 'BUFFERED', response: 'FULL_DUPLEX_STREAMED' } as const;
      const reply = { type: 'response_body', body: oneToken, endOfStream: false } as const;
      return {
        operations: 1,
        general: () => processMethod.responseSerialize(encodeReply(reply, modes)),
        fast: () => serializeReply(reply, modes),
      };
    },
  },
  {
    files: ['filter/exchange/request/route.ts'],
    work: 'find the operation of a path',
    least: 1.5,
    prepare() {
      // A slash at the end says nothing, and sends the path to the general path.
      const routing = (path: string) => {
        const headers = new Map([...requestHeaders, [':path', path]] as [string, string][]);
        return () => routeOf(headers);
      };
      return { operations: 1, general: routing('/v1/responses/'), fast: routing('/v1/responses') };
    },
  },
  {
    files: [
      'filter/exchange/response/event-stream-reader.ts',
      'filter/translate/chat/delta-template.ts',
      'filter/translate/stream.ts',
    ],
    work: 'translate the JSON of a token',
    least: 1.5,
    prepare: () => ({
      operations: tokens.length,
      general: translation((translator) => chunks.map((json) => translator.push(JSON.parse(json)))),
      fast: translation((translator) => chunks.map((json) => translator.pushRawJson(json))),
    }),
  },
  {
    files: ['filter/translate/chat/fast-delta.ts', 'filter/translate/response/output-writer.ts'],
    work: 'translate a parsed chunk',
    least: 1.5,
    prepare() {
      const parsed = chunks.map((json) => JSON.parse(json) as object);
      // A field that the fast path does not know sends a chunk to the general path.
      const unusual = parsed.map((chunk) => ({ ...chunk, unusual: 1 }));
      return {
        operations: tokens.length,
        general: translation((translator) => unusual.map((chunk) => translator.push(chunk))),
        fast: translation((translator) => parsed.map((chunk) => translator.push(chunk))),
      };
    },
  },
  {
    files: ['filter/wire/sse/encode.ts'],
    work: 'encode a delta event',
    least: 1.5,
    prepare() {
      const events = translation((translator) => translator.push(JSON.parse(chunks[1] ?? '')))();
      // The fast path does not know padding.
      const padded = events.map((event) => ({ ...event, obfuscation: '' }) as (typeof events)[number]);
      return { operations: 1, general: () => encodeSseEvents(padded), fast: () => encodeSseEvents(events) };
    },
  },
  {
    files: ['filter/wire/schema/fast-check.ts'],
    work: 'check a message, a call, its output and a tool',
    least: 1.5,
    prepare() {
      const values: readonly (readonly [z.ZodType, unknown])[] = [
        [messageItem, { type: 'message', role: 'user', content: 'What is the weather in Oslo?' }],
        [functionCallItem, { type: 'function_call', call_id: 'call_1', name: 'get_weather', arguments: '{}' }],
        [toolOutputItem, { type: 'function_call_output', call_id: 'call_1', output: 'rain' }],
        [functionTool, { type: 'function', name: 'get_weather', parameters: { type: 'object', properties: {} } }],
      ];
      return {
        operations: 1,
        general: () => values.map(([schema, value]) => schema.safeParse(value).success),
        fast: () => values.map(([schema, value]) => passesFastCheck(schema, value)),
      };
    },
  },
  {
    files: ['tools/redact/repeated-shape.ts'],
    work: 'search an event of a stream for credentials',
    least: 1.5,
    prepare() {
      // A colon in its text sends an event to the general path.
      const redactionOf = (texts: readonly string[]) => {
        const redactor = new Redactor().body('answer');
        const events = texts.map((content) => eventsOf([chunkOf({ content })]));
        return () => events.map((event) => redactor.push(event));
      };
      return {
        operations: tokens.length,
        general: redactionOf(tokens.map((text) => `${text}:`)),
        fast: redactionOf(tokens.map((text) => `${text}.`)),
      };
    },
  },
  {
    files: ['service/telemetry/log.ts'],
    work: 'write the log line of an exchange',
    least: 1.5,
    prepare() {
      const destination = { write: () => {} };
      const log = createLog('info', destination);
      const write = createLineWriter(log, destination);
      const line = {
        ...{ request_id: '3431e97d-c889-4cc8-bf4b-15a44e14d68b', trace_id: null, outcome: 'completed', status: 200 },
        ...{ upstream_status: 200, code: null, method: 'POST', path: '/v1/responses', profile: 'generic', model: 'm' },
        ...{
          stream: true,
          modes: 'BUFFERED/FULL_DUPLEX_STREAMED',
          finish_reason: 'stop',
          input_tokens: 24,
          events: 34,
        },
        ...{ dropped: [], request_bytes: [220, 291], response_bytes: [5220, 9291], duration_ms: 1204 },
      };
      return { operations: 1, general: () => log.info(line, 'exchange'), fast: () => write('info', line, 'exchange') };
    },
  },
];

/** The rows of the table. The two paths alternate, `rounds` times for `ms` each; the best round counts. */
export function pairRows({ ms = 40, rounds = 15 }: { ms?: number; rounds?: number } = {}): Cell[][] {
  return fastPaths.map(({ work, prepare }) => {
    const { operations, general, fast } = prepare();
    // V8 still compiles during the first rounds.
    const best = [general, fast].map((way) => microsecondsOf(way, 4 * ms) / operations);
    for (let round = 0; round < rounds; round++)
      for (const [index, way] of [general, fast].entries())
        best[index] = Math.min(best[index] ?? 0, microsecondsOf(way, ms) / operations);
    const [slow = 0, quick = 0] = best;
    return [work, slow, quick, slow / quick];
  });
}

/** Results of operations go here, so that the compiler cannot eliminate them. */
let sink: unknown;

function microsecondsOf(work: () => unknown, ms: number): number {
  const begun = performance.now();
  const before = process.cpuUsage();
  let calls = 0;
  while (performance.now() - begun < ms) {
    sink = work();
    calls += 1;
  }
  const { user, system } = process.cpuUsage(before);
  if (sink === null) throw new Error('Nothing was measured.');
  return (user + system) / calls;
}

/** Work on a stream that has begun, and is replaced before it grows long. */
function translation<Result>(work: (translator: StreamTranslator) => Result): () => Result {
  let calls = 0;
  let translator = new StreamTranslator(createTestContext());
  return () => {
    if (calls++ % 64 === 0) {
      translator = new StreamTranslator(createTestContext());
      for (const json of chunks.slice(0, 2)) translator.push(JSON.parse(json), null, json);
    }
    return work(translator);
  };
}
