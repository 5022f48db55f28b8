import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { StreamTranslator } from '../../../src/filter/translate/chat-to-response/stream.ts';
import { clientTools } from '../../../src/filter/translate/client-tools/client-tools.ts';
import { builtInProfiles } from '../../../src/filter/upstream/profiles.ts';
import type { LooseChunk, LooseMessage } from '../../../src/filter/wire/schema/chat-completion.ts';
import { createTestContext } from '../context.ts';
import { type ChunkOf, endlessStreams } from '../endless-streams.ts';
import { profilesWithTools } from '../profiles-with-tools.ts';
import { createTestSettings } from '../settings.ts';
import { type Family, inPieces, keyed, MeteredExchange, nested, type Outcome, times } from './family.ts';

const door = 'gRPC stream';

/** A request that makes the service read every field of an answer that it can. */
const asked = {
  ...{ model: 'm', input: 'Hi', stream: true, top_logprobs: 3 },
  include: ['reasoning.encrypted_content', 'message.output_text.logprobs'],
  tools: [
    ...['f', 'get', 'get_weather'].map((name) => ({ type: 'function', name })),
    { type: 'custom', name: 'p' },
    { type: 'tool_search', execution: 'client' },
  ],
};

const limits = { maxItems: 1e6, maxTools: 1e6, maxValues: 1e7, maxNesting: 1e4 };
const settings = {
  plain: createTestSettings({ limits }),
  extensions: createTestSettings({ limits, profile: { extends: 'generic', passExtensions: true } }),
  cumulative: createTestSettings({ limits, profile: { extends: 'generic', cumulativeDeltas: true } }),
  tags: createTestSettings({ limits, profile: { extends: 'generic', thinkTags: 'on', implicitThink: true } }),
};

/** Bytes of an answer that come together. */
const pieceBytes = 1000;

const delta = (fields: object): LooseChunk => ({ model: 'm', choices: [{ index: 0, delta: fields as LooseMessage }] });
const call = (index: number, name: string | undefined, text: string, id?: string) =>
  delta({ tool_calls: [{ index, ...(id !== undefined && { id }), function: { name, arguments: text } }] });
const finish: LooseChunk = { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] };

/** The events of chunks, as a server writes them. */
export function eventsOf(chunks: readonly object[]): Buffer {
  return Buffer.from(chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join(''));
}

const done = Buffer.from('data: [DONE]\n\n');

interface Answering {
  readonly request?: (size: number) => object;
  readonly using?: typeof settings.plain;
  readonly piece?: number;
  readonly size?: number;
}

/** An answer to a request: both are what came in. */
function answered(
  name: string,
  answer: (
    size: number,
    isWhole: boolean,
  ) => { readonly type: string; readonly bytes: Buffer; readonly status?: string },
  { request = () => asked, using = settings.plain, piece = pieceBytes, ...rest }: Answering = {},
): Family {
  return {
    ...{ door, name, ...rest },
    make(size, isWhole = true) {
      const body = Buffer.from(JSON.stringify(request(size)));
      const { type, bytes, status } = answer(size, isWhole);
      const pieces = inPieces(bytes, piece);
      const run = (): Outcome =>
        new MeteredExchange(using).request(body).answer(type, pieces, { status, isWhole }).outcome();
      return { bytes: bytes.length + body.length, run };
    },
  };
}

const type = 'text/event-stream';

/** A stream of such chunks. */
function streamOf(name: string, chunks: (size: number) => readonly object[], more: Answering = {}): Family {
  const end = Buffer.concat([eventsOf([finish]), done]);
  const bytes = (size: number, isWhole: boolean) => Buffer.concat([eventsOf(chunks(size)), ...(isWhole ? [end] : [])]);
  return answered(`a stream of ${name}`, (size, isWhole) => ({ type, bytes: bytes(size, isWhole) }), more);
}

/** A stream that begins with such lines. */
function linesOf(name: string, text: (size: number) => string, more: Answering = {}): Family {
  const end = `\n\n${eventsOf([delta({ content: 'a' }), finish])}${done}`;
  const bytes = (size: number, isWhole: boolean) => Buffer.from(`${text(size)}${isWhole ? end : ''}`);
  return answered(`a stream of ${name}`, (size, isWhole) => ({ type, bytes: bytes(size, isWhole) }), more);
}

function jsonOf(name: string, of: (size: number) => object, more: Answering = {}): Family {
  const request = (size: number) => ({ ...(more.request?.(size) ?? asked), stream: false });
  const answer = (size: number) => ({ type: 'application/json', bytes: Buffer.from(JSON.stringify(of(size))) });
  return answered(`JSON of ${name}`, answer, { ...more, request });
}

/** What the deltas add up to, as a server that does not stream writes it: texts and lists are joined. */
function joined(deltas: readonly object[]): object {
  const whole: Record<string, unknown> = {};
  for (const each of deltas)
    for (const [key, value] of Object.entries(each)) {
      const before = whole[key];
      if (typeof before === 'string' && typeof value === 'string') whole[key] = before + value;
      else if (Array.isArray(before) && Array.isArray(value)) for (const entry of value) before.push(entry);
      else whole[key] = Array.isArray(value) ? [...value] : value;
    }
  return whole;
}

/** The chunks as one completion: their deltas, logprobs and lists are joined. */
function completionOf(chunks: readonly LooseChunk[]): object {
  const choices = chunks.flatMap(({ choices }) => (choices ?? []) as { delta?: object; logprobs?: object }[]);
  const message = joined(choices.map((choice) => choice.delta ?? {}));
  const logprobs = choices.flatMap((choice) => (choice.logprobs === undefined ? [] : [choice.logprobs]));
  const rest = joined(chunks.map(({ choices: _choices, ...others }) => others));
  const choice = {
    index: 0,
    message,
    finish_reason: 'stop',
    ...(logprobs.length > 0 && { logprobs: joined(logprobs) }),
  };
  return { ...rest, choices: [choice] };
}

const chunksOf = (of: ChunkOf) => (size: number) => times(size, of);

/** Streams in which one thing names, repeats, or waits for another. */
const products: readonly Family[] = [
  streamOf('many counts once, and small counts', (size) => [
    delta({ content: 'a' }),
    { choices: [], usage: keyed(size, 'key', () => 1) },
    ...times(size, (index) => ({ choices: [], usage: { completion_tokens: index } })),
  ]),
  streamOf('a new count in each chunk', (size) =>
    times(size, (index) => ({ ...delta({ content: 'a' }), usage: { [`key${index}`]: 1 } })),
  ),
  streamOf('a custom tool’s input of line feeds', (size) => [
    call(0, 'p', '{"input":"', 'a'),
    call(0, undefined, '\\n'.repeat(40 * size)),
    call(0, undefined, '"}'),
  ]),
  streamOf('arguments of white space', (size) => [
    call(0, 'f', '', 'a'),
    ...times(size, () => call(0, undefined, ' '.repeat(100))),
    call(0, undefined, '{}'),
  ]),
  streamOf('a call that says its name again', (size) => times(size, () => call(0, 'f', '{}'))),
  streamOf('a call that says its id again', (size) => times(size, () => call(0, 'f', '{}', 'a'))),
  streamOf('arguments of a call that may repeat another', (size) => [
    call(0, 'f', '{"x":1}', 'a'),
    call(1, 'f', '{"a":"', 'a'),
    ...times(size, () => call(1, undefined, 'some text that ends in }')),
  ]),
  streamOf('arguments that begin and end again and again', (size) => times(size, () => call(0, 'f', 'ab}', 'a'))),
  // A brace may be the end of the arguments, of an object in them, or a part of a text.
  ...[
    ['{"a":', '{"b":{}', '},'],
    ['{"a":"', '}', '{'],
    ['{}', '}', '}'],
  ].map(([first = '', ...pieces]) =>
    streamOf(`braces in pieces of arguments behind ${first}`, (size) => [
      call(0, 'f', first, 'a'),
      ...times(size, (index) => call(0, undefined, pieces[index % pieces.length] ?? '')),
    ]),
  ),
  streamOf(
    'a call that says its name again behind its arguments',
    (size) => [call(0, 'f', '{"a":"x', 'a'), ...times(size, () => call(0, 'f', '{}'))],
    { size: 100 },
  ),
  ...['f', 'p'].map((name) =>
    streamOf(`arguments encoded twice for ${name}, while another call waits`, (size) => [
      call(0, name, '"', 'a'),
      call(1, 'f', '{}', 'b'),
      ...times(size, () => call(0, undefined, '{\\"')),
      call(0, undefined, '"'),
    ]),
  ),
  streamOf('calls that wait for the first', (size) => [
    call(0, 'f', '{"a":"', 'a'),
    ...times(size, (index) => call(index + 1, 'f', '{}', `b${index}`)),
    ...times(size, () => call(0, undefined, 'a}')),
    call(0, undefined, '"}'),
  ]),
  streamOf('calls in one chunk', (size) => [
    delta({
      tool_calls: times(size, (index) => ({ index, id: `c${index}`, function: { name: 'f', arguments: '{}' } })),
    }),
  ]),
  streamOf('a name that grows, of many tools', (size) => times(size, () => call(0, 'x', '')), {
    request: (size) => ({ ...asked, tools: times(size, (index) => ({ type: 'function', name: `get${index}` })) }),
  }),
  streamOf(
    'calls with an id of the history',
    (size) => times(size, (index) => call(index, 'f', `{"a":${index}}`, 'old')),
    {
      request: (size) => ({
        ...asked,
        input: times(size, (index) => [
          { type: 'function_call', call_id: `old_repeat${index + 2}`, name: 'f', arguments: '{}' },
          { type: 'function_call_output', call_id: `old_repeat${index + 2}`, output: 'x' },
        ])
          .flat()
          .concat([
            { type: 'function_call', call_id: 'old', name: 'f', arguments: '{}' },
            { type: 'function_call_output', call_id: 'old', output: 'x' },
          ]),
      }),
    },
  ),
  ...['nobody', 'tool'].map((name) =>
    streamOf(
      `calls of ${name === 'tool' ? 'tools' : 'unknown names'} of a namespace`,
      (size) => times(size, (index) => call(index, `${name}${index}`, '{}', `c${index}`)),
      {
        request: (size) => ({
          ...asked,
          tools: [
            {
              ...{ type: 'namespace', name: 'space', description: 'd'.repeat(20 * size) },
              tools: times(size, (index) => ({ type: 'function', name: `tool${index}`, defer_loading: true })),
            },
            { type: 'tool_search' },
          ],
        }),
      },
    ),
  ),
  streamOf('chunks to a request of many fields', (size) => times(size, () => delta({ content: 'ab', more: 1 })), {
    request: (size) => ({ ...asked, input: 'x'.repeat(size), metadata: keyed(16, 'k', () => 'v'.repeat(size)) }),
  }),
  // What the client's own tools are called with.
  ...Object.keys(clientTools).map((type) =>
    streamOf(
      `calls of the client’s ${type}`,
      (size) =>
        times(size, (index) =>
          call(index, type, '{"command":["a","b"],"operation":{"type":"x"},"query":"q"}', `c${index}`),
        ),
      {
        request: () => ({
          ...asked,
          tools: [{ type, execution: 'client', environment: { type: 'local' }, description: 'd', parameters: {} }],
        }),
      },
    ),
  ),
  streamOf('verdicts', (size) => [
    delta({ content: 'a' }),
    ...times(size, () => ({
      choices: [],
      moderation: { input: { results: times(3, () => ({ flagged: true, categories: { a: true } })) } },
    })),
  ]),
  streamOf('whole messages beside empty deltas', (size) =>
    times(size, () => ({ choices: [{ index: 0, delta: { role: 'assistant' }, message: { content: 'ab' } }] })),
  ),
  streamOf('empty deltas', (size) => times(size, () => delta({ role: 'assistant', content: '' }))),
  streamOf(
    'fields and parts of the vendor’s own',
    (size) =>
      times(size, (index) => ({
        ...delta({ content: [{ type: 'x:part', a: 1 }], [`x:field${index}`]: 1 }),
        [`x:more${index}`]: 1,
      })),
    { using: settings.extensions },
  ),
  streamOf('long words', (size) => [
    {
      ...delta({ content: 'a' }),
      ...{ model: 'm'.repeat(100 * size), service_tier: 't'.repeat(100 * size) },
    },
    { choices: [{ index: 0, delta: {}, finish_reason: 'r'.repeat(100 * size) }] },
  ]),
  streamOf('unread names', (size) => times(size, (index) => delta({ [`name${index}`]: 1, content: 'a' }))),
  streamOf('choices', (size) => times(size, (index) => ({ choices: [{ index, delta: { content: 'a' } }] }))),
  streamOf('texts that repeat all before', (size) =>
    times(size, (index) => delta({ content: 'word '.repeat(Math.min(index, 20)) })),
  ),
  streamOf(
    'parts and calls that repeat all before',
    (size) =>
      times(size, (index) =>
        delta({
          content: [{ type: `text${index % 3}`, text: 'word '.repeat(Math.min(index, 20)) }],
          reasoning_details: [{ type: 'reasoning.text', text: 'word '.repeat(Math.min(index, 20)) }],
          tool_calls: [{ index: 0, id: 'a', function: { name: 'f', arguments: '{"a":1}'.slice(0, index) } }],
        }),
      ),
    { using: settings.cumulative },
  ),
  streamOf(
    'calls of a server that repeats all before',
    (size) => times(size, (index) => call(index, 'f', '{}', `c${index}`)),
    {
      using: settings.cumulative,
    },
  ),
  streamOf('thoughts in the content', (size) =>
    times(size, () => delta({ content: 'ab', extra_content: { google: { thought: true } } })),
  ),
  streamOf('calls without an index', (size) =>
    times(size, () => delta({ tool_calls: [{ function: { name: 'f', arguments: '{"a":1}' } }] })),
  ),
  streamOf('calls whose name and id come in pieces', (size) =>
    times(size, (index) => [call(index, 'ge', ''), call(index, 't', '{}', `c${index}`)]).flat(),
  ),
  streamOf('one call again and again', (size) => [
    call(0, 'f', '{"a":1}', 'a'),
    ...times(size, (index) => call(index + 1, 'f', '{"a":1}', 'a')),
  ]),
  streamOf('whole numbers', (size) => [
    call(0, 'f', '{"a":[', 'a'),
    ...times(size, (index) => call(0, undefined, index % 2 ? '1.0,2.50,' : '3.00')),
    call(0, undefined, '1]}'),
  ]),
  streamOf(
    'thinking in tags, and the whole message behind it',
    (size) => [
      ...times(size, (index) => delta({ content: `${index === 0 ? '<think>' : ''}so it is ` })),
      { choices: [{ index: 0, delta: {}, message: { content: `<think>${'so it is '.repeat(size)}</think>a` } }] },
    ],
    { using: settings.tags },
  ),
  streamOf('words for a client that wants JSON', (size) => times(size, () => delta({ content: 'ab' })), {
    request: () => ({ ...asked, stream: false }),
  }),
  streamOf('empty logprobs', (size) => [
    ...times(size, (index) => ({
      choices: [
        { index: 0, delta: { content: index === 0 ? 'ab' : '' }, logprobs: { content: [{ token: '', logprob: -1 }] } },
      ],
    })),
    delta({ content: 'b'.repeat(size) }),
  ]),
  streamOf('logprobs of one token', (size) => [
    {
      choices: [
        { index: 0, delta: { content: 'a' }, logprobs: { content: times(size, () => ({ token: 'a', logprob: -1 })) } },
      ],
    },
    delta({ content: 'a'.repeat(size) }),
  ]),
  streamOf('logprobs of broken characters', (size) => [
    {
      choices: [
        {
          index: 0,
          delta: { content: 'x' },
          logprobs: { content: times(size, () => ({ token: '\uFFFD', logprob: -1 })) },
        },
      ],
    },
    delta({ content: 'b'.repeat(size) }),
  ]),
  ...['<', '<think', '</think>', '<think>a</think>', ' ', 'text'].map((content) =>
    streamOf(`${content} where tags are read`, (size) => times(size, () => delta({ content })), {
      using: settings.tags,
    }),
  ),
];

/** What is wrong with a stream before any field of it is read. */
const lines: readonly Family[] = [
  linesOf('data of many lines', (size) => 'data:x\n'.repeat(size)),
  linesOf('data of many empty lines', (size) => `${'data:\n'.repeat(size)}data:x`),
  linesOf('chunks in one event', (size) => `data: ${JSON.stringify(delta({ content: 'a' }))}\n`.repeat(size)),
  linesOf('events that are not JSON', (size) => 'data: x\n\n'.repeat(size)),
  linesOf(
    'events of the vendor’s own',
    (size) => `event: x:y\ndata: {"type":"x:y","a":"${'b'.repeat(size)}"}\n\n`.repeat(8),
    {
      using: settings.extensions,
    },
  ),
  linesOf('events of many names', (size) => times(size, (index) => `event: x:y${index}\ndata: {}\n\n`).join('')),
  linesOf('an event of an error', (size) => `event: error\ndata: {"message":"${'no '.repeat(size)}"}`),
  linesOf('comments', (size) => ': keep-alive\n\n'.repeat(size)),
  linesOf('carriage returns', (size) => '\r'.repeat(size)),
  linesOf('fields that nobody knows', (size) => 'x:\n'.repeat(size)),
  linesOf('one long event', (size) => `data: ${JSON.stringify(delta({ content: 'a"\\n'.repeat(20 * size) }))}`),
  linesOf('one event in pieces of a byte', (size) => `data: ${JSON.stringify(delta({ content: 'a'.repeat(size) }))}`, {
    piece: 1,
  }),
  linesOf('a long line without data', (size) => 'a'.repeat(20 * size), { piece: 16 }),
  linesOf('an event that nests', (size) => `data: {"a":${'['.repeat(size)}${']'.repeat(size)}}`),
];

const whole: readonly Family[] = [
  jsonOf('calls of one message', (size) =>
    completionOf(times(size, (index) => call(index, 'f', '{"a":1}', `call${index}`))),
  ),
  jsonOf('fields that nobody knows', (size) => ({
    ...completionOf([delta({ content: 'a' })]),
    ...keyed(size, 'k', () => 1),
  })),
  jsonOf('counts', (size) => ({ ...completionOf([delta({ content: 'a' })]), usage: keyed(size, 'k', () => 1) })),
  jsonOf('parts', (size) => completionOf([delta({ content: times(size, () => ({ type: 'text', text: 'a' })) })])),
  jsonOf('choices', (size) => ({
    choices: times(size, (index) => ({ index, message: { content: 'a' }, finish_reason: 'stop' })),
  })),
  jsonOf('a long text', (size) => completionOf([delta({ content: 'some words '.repeat(100 * size) })])),
  jsonOf('nothing', (size) => ({ ...completionOf([delta({ content: '' })]), more: 'x'.repeat(size) })),
  jsonOf('an error with details', (size) => ({ error: { message: 'no', details: times(size, () => ({ a: ['b'] })) } })),
  ...['400', '429', '500'].map((status) =>
    answered(`an error ${status}`, (size) => ({
      ...{ type: 'application/json', status },
      bytes: Buffer.from(
        JSON.stringify({ error: { message: 'the maximum context length is 4 '.repeat(size), code: 'x' } }),
      ),
    })),
  ),
  answered('an answer that is no JSON', (size) => ({
    type: 'application/json',
    bytes: Buffer.from(`{"a":"${'b'.repeat(100 * size)}"`),
  })),
  answered('an error in words', (size) => ({
    ...{ type: 'text/plain', status: '400' },
    bytes: Buffer.from('Bearer a sk-1 token=b https://a:b@c/ \n'.repeat(size)),
  })),
  answered('an error in HTML', (size) => ({
    ...{ type: 'text/html', status: '502' },
    bytes: Buffer.from(`<html>${'<b>no</b>'.repeat(size)}`),
  })),
];

/** Calls alone, without the bytes around them, whose cost would hide that of the writer: as many as an answer may have. */
const calls: readonly Family[] = ['{}', ''].flatMap((text) =>
  (['in chunks of their own', 'in one chunk'] as const).map((where) => ({
    ...{ door, name: `the writer of calls with ${text === '' ? 'nothing' : text} ${where}`, size: 255 },
    make(size: number) {
      const entries = times(size, (index) => ({ index, id: `c${index}`, function: { name: 'f', arguments: text } }));
      const lists = where === 'in one chunk' ? [entries] : entries.map((entry) => [entry]);
      const chunks = lists.map((list) => delta({ tool_calls: list }));
      const run = () => {
        const translator = new StreamTranslator(createTestContext({ toolNames: ['f'] }));
        for (const chunk of chunks) translator.push(chunk);
        return { sent: 0, counted: translator.holds(), kept: translator, refused: null };
      };
      return { bytes: JSON.stringify(entries).length, run };
    },
  })),
);

/** Answers that do not stream: one that passes as it came, and a summary for compaction. */
const posted: readonly Family[] = (
  [
    ['an answer of another API', '/v1/embeddings', (size) => ({ data: times(size, () => ({ embedding: [1, 2] })) })],
    ['a summary', '/v1/responses/compact', (size) => completionOf([delta({ content: 'some words '.repeat(size) })])],
  ] satisfies [string, string, (size: number) => object][]
).map(([name, path, of]) => ({
  ...{ door, name },
  make(size) {
    const body = Buffer.from(JSON.stringify({ model: 'm', input: 'x'.repeat(size) }));
    const answer = Buffer.from(JSON.stringify(of(size)));
    const run = () =>
      new MeteredExchange(settings.plain)
        .request(body, { ':path': path })
        .answer('application/json', inPieces(answer, pieceBytes), { isWhole: true })
        .outcome();
    return { bytes: body.length + answer.length, run };
  },
}));

/** Compressed bodies, in one piece and of many members or frames. */
const compressed: readonly Family[] = [
  ...Object.entries({ gzip: gzipSync, deflate: deflateSync, br: brotliCompressSync, zstd: zstdCompressSync }).flatMap(
    ([coding, compress]): Family[] => [
      {
        ...{ door, name: `a request in ${coding}` },
        make(size) {
          const body = compress(JSON.stringify({ model: 'm', input: `${'some words '.repeat(20 * size)}` }));
          const run = () => new MeteredExchange(settings.plain).request(body, { 'content-encoding': coding }).outcome();
          return { bytes: 220 * size, run };
        },
      },
      {
        ...{ door, name: `an answer in ${coding}` },
        make(size, isWhole = true) {
          const text = 'data:{}\n\n'.repeat(20 * size);
          const pieces = [compress(text)];
          const request = Buffer.from(JSON.stringify(asked));
          const run = () =>
            new MeteredExchange(settings.plain).request(request).answer(type, pieces, { isWhole, coding }).outcome();
          return { bytes: request.length + text.length, run };
        },
      },
    ],
  ),
  ...Object.entries({ gzip: gzipSync, zstd: zstdCompressSync }).map(
    ([coding, compress]): Family => ({
      ...{ door, name: `a request in ${coding} of many frames` },
      make(size) {
        const parts = ['{"model":"m","input":"', ...times(size, () => 'words '), '"}'];
        const body = Buffer.concat(parts.map((part) => compress(part)));
        const run = () => new MeteredExchange(settings.plain).request(body, { 'content-encoding': coding }).outcome();
        return { bytes: body.length, run };
      },
    }),
  ),
  {
    ...{ door, name: 'a request in gzip of a schema that nests' },
    make(size) {
      const bottom = { type: 'object', properties: keyed(8 * size, 'property', () => ({})) };
      const tools = [{ type: 'function', name: 'f', parameters: nested(size, bottom) }];
      const text = JSON.stringify({ model: 'm', input: 'x', tools });
      const body = gzipSync(text);
      const run = () => new MeteredExchange(settings.plain).request(body, { 'content-encoding': 'gzip' }).outcome();
      return { bytes: text.length, run };
    },
  },
];

const catalog: readonly Family[] = [...builtInProfiles.keys()].slice(0, 3).map((profile) => ({
  door,
  name: `a list of models of ${profile}`,
  make(size) {
    const list = Buffer.from(
      JSON.stringify({ data: times(size, (index) => ({ id: `m${index}${'x'.repeat(size)}` })) }),
    );
    const get = { ':method': 'GET', ':path': '/v1/models?client_version=1' };
    const run = () =>
      new MeteredExchange(createTestSettings({ profile }))
        .request(Buffer.alloc(0), get)
        .answer('application/json', inPieces(list, pieceBytes), { isWhole: true })
        .outcome();
    return { bytes: list.length, run };
  },
}));

/** Some of all that a stream may have, one after the other. */
const some = endlessStreams.filter((_, index) => index % 3 === 0);
const everything = (size: number) => some.flatMap(([, of]) => times(size, of));

export const answers: readonly Family[] = [
  ...endlessStreams.map(([name, of]) => streamOf(name, chunksOf(of))),
  ...endlessStreams.map(([name, of]) => jsonOf(name, (size) => completionOf(times(size, of)))),
  ...products,
  ...lines,
  ...whole,
  ...calls,
  ...posted,
  ...compressed,
  ...catalog,
  ...[...builtInProfiles.keys()].map((profile) =>
    streamOf(`some of everything by ${profile}`, everything, {
      ...{ size: 2, using: createTestSettings({ profile, limits }) },
      request: () => ({
        model: 'm',
        input: 'Hi',
        stream: true,
        ...(profilesWithTools.includes(profile) && { tools: asked.tools }),
      }),
    }),
  ),
];
