import type { ProcessingRequest } from '../test/support/generated/envoy/service/ext_proc/v3/ProcessingRequest.ts';

/** A generator of numbers in [0, 1) that gives the same ones for the same seed (mulberry32). */
export function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

const words = ['the', ' heron', ' says', ' to', ' a', ' carp', ',', '\n', ' “', 'naïve', ' 漢字', '"', ' weather', '.'];

/** Text deltas of a few letters, as models write them: some with quotes, line feeds and characters beyond ASCII. */
export function textDeltas(count: number, seed = 1): string[] {
  const random = createRandom(seed);
  return Array.from({ length: count }, () => words[Math.floor(random() * words.length)] ?? 'a');
}

/** The JSON of a chunk with that delta, as vLLM and OpenAI write it. */
export function chunkOf(delta: object): string {
  return JSON.stringify({
    id: 'chatcmpl-0123456789abcdef',
    object: 'chat.completion.chunk',
    created: 1_700_000_000,
    model: 'example-model',
    choices: [{ index: 0, delta, logprobs: null, finish_reason: null }],
  });
}

/** Those chunks as server-sent events. */
export function eventsOf(chunks: readonly string[]): Buffer {
  return Buffer.from(chunks.map((chunk) => `data: ${chunk}\n\n`).join(''));
}

export const requestHeaders: readonly (readonly [string, string])[] = [
  [':method', 'POST'],
  [':path', '/v1/responses'],
  [':authority', 'gateway.example'],
  [':scheme', 'https'],
  ['user-agent', 'OpenAI/Python 2.8.1'],
  ['authorization', 'Bearer sk-0123456789abcdef0123456789abcdef'],
  ['accept', 'application/json'],
  ['accept-encoding', 'gzip, deflate'],
  ['content-type', 'application/json'],
  ['x-request-id', 'f3c1a2b4-0000-4000-8000-0123456789ab'],
  ['x-forwarded-proto', 'https'],
  ['x-stainless-lang', 'python'],
  ['x-stainless-os', 'Linux'],
  ['x-stainless-runtime', 'CPython'],
];

export const responseHeaders: readonly (readonly [string, string])[] = [
  [':status', '200'],
  ['content-type', 'text/event-stream; charset=utf-8'],
  ['date', 'Fri, 21 Nov 2026 00:00:00 GMT'],
  ['server', 'uvicorn'],
];

export function headersMessage(
  side: 'request' | 'response',
  headers: readonly (readonly [string, string])[],
): ProcessingRequest {
  const map = { headers: headers.map(([key, value]) => ({ key, raw_value: Buffer.from(value) })) };
  return { [`${side}_headers`]: { headers: map, end_of_stream: false } };
}

/** A `CreateResponse` body with a conversation of that many bytes. */
export function requestBody(stream: boolean, historyBytes = 0): Buffer {
  const turn = textDeltas(1000, 7).join('');
  const count = Math.ceil(historyBytes / Buffer.byteLength(turn));
  const turns = Array.from({ length: count }, (_, index) => ({
    role: index % 2 === 0 ? 'user' : 'assistant',
    content: turn,
  }));
  const input = [...turns, { role: 'user', content: 'What is the weather?' }];
  const tools = [
    {
      type: 'function',
      name: 'get_weather',
      description: 'The weather of a city.',
      parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
    },
  ];
  return Buffer.from(JSON.stringify({ model: 'example-model', stream, instructions: 'Be brief.', input, tools }));
}

/** A whole `chat.completion` whose text has that many bytes, give or take a word. */
export function completionBody(textBytes: number): Buffer {
  const part = textDeltas(1000, 3);
  let content = '';
  for (let index = 0, bytes = 0; bytes < textBytes; index++) {
    const word = part[index % part.length] as string;
    content += word;
    bytes += Buffer.byteLength(word);
  }
  return Buffer.from(
    JSON.stringify({
      id: 'chatcmpl-0123456789abcdef',
      object: 'chat.completion',
      created: 1_700_000_000,
      model: 'example-model',
      choices: [{ index: 0, message: { role: 'assistant', content }, logprobs: null, finish_reason: 'stop' }],
      usage: { prompt_tokens: 1234, completion_tokens: 16, total_tokens: 1250 },
    }),
  );
}
