import { deserializeHealthCheck, deserializeRequest } from '../../../src/filter/extproc/deserialize-request.ts';
import { serializeReply } from '../../../src/filter/extproc/serialize-reply.ts';
import { readProfilesFile } from '../../../src/filter/upstream/profiles-file.ts';
import { Redactor } from '../../../src/formats/credentials/redactor.ts';
import { JsonEnd } from '../../../src/formats/json/json-end.ts';
import { JsonBytes } from '../../../src/formats/json/parts.ts';
import { frameHeadBytes, MessageFrameReader, putFrameHead } from '../../../src/service/server/message-frames.ts';
import { settingsIn } from '../../../src/service/settings/setting.ts';
import { settings as settingTable } from '../../../src/service/settings/settings-table.ts';
import {
  findHandshakeError,
  readForwardedHeaders,
  readIdentity,
  readQuery,
} from '../../../src/service/websocket/handshake.ts';
import { readStreamEvent } from '../../../src/service/websocket/stream-event.ts';
import { findMediaBytes } from '../../../src/service/websocket/turn-request.ts';
import { readChatAnswer } from '../../../src/tools/doctor/chat-answer.ts';
import { explainRequest } from '../../../src/tools/explain/explain-request.ts';
import {
  buildExchangePart,
  buildExchangeRow,
  buildExplainedRequest,
} from '../../../src/tools/inspect/exchange-json.ts';
import { createExchangeStore, type ExchangeStore } from '../../../src/tools/inspect/exchange-store.ts';
import { createListEvents } from '../../../src/tools/inspect/list-events.ts';
import { createRecorder } from '../../../src/tools/inspect/record-exchanges.ts';
import { buildPerBody } from '../../../src/tools/inspect/recording.ts';
import { explainSetupOf } from '../config-of-settings.ts';
import { createdAt } from '../context.ts';
import { exchangeOptions, headersOf, repliesOf } from '../exchange-options.ts';
import { processMethod } from '../proto-definitions.ts';
import { addBytes, overFacts, requestHead } from '../recorded-exchange.ts';
import { type SessionOptions, startWebSocketSession, type WebSocketSession } from '../websocket-session.ts';
import { eventsOf } from './answers.ts';
import { type Family, inPieces, keyed, type Outcome, times } from './family.ts';

const nothing: Outcome = { sent: 0, counted: null, refused: null };

/** A text, and what reads it. */
function reading(door: string, name: string, text: (size: number) => string, read: (text: string) => unknown): Family {
  const make = (size: number) => {
    const given = text(size);
    return { bytes: given.length, run: () => ({ ...nothing, kept: read(given) }) };
  };
  return { door, name, make };
}

// gRPC: the messages around the bodies.

const wire = (message: object) => processMethod.requestSerialize(message as never);

function frameOf(message: Buffer): Buffer {
  const frame = Buffer.concat([Buffer.alloc(frameHeadBytes), message]);
  putFrameHead(frame);
  return frame;
}

function framed(name: string, bytes: (size: number) => Buffer, piece: number): Family {
  return {
    ...{ door: 'gRPC stream', name },
    make(size) {
      const given = bytes(size);
      const pieces = inPieces(given, piece);
      const run = () => {
        const reader = new MessageFrameReader(64 * 1024 * 1024);
        for (const each of pieces) reader.push(each, { message: (message) => void deserializeRequest(message) });
        return nothing;
      };
      return { bytes: given.length, run };
    },
  };
}

const messages: readonly Family[] = [
  framed('a message in pieces of a byte', (size) => frameOf(wire({ request_body: { body: Buffer.alloc(size) } })), 1),
  framed(
    'messages in one piece',
    (size) => Buffer.concat(times(size, () => frameOf(wire({ request_body: { body: Buffer.alloc(9) } })))),
    1e6,
  ),
  framed(
    'headers of a request',
    (size) => {
      const headers = times(size, (index) => ({ key: `x-${index}`, raw_value: Buffer.from('v') }));
      return frameOf(wire({ request_headers: { headers: { headers } } }));
    },
    1e6,
  ),
  reading(
    'gRPC stream',
    'the end of JSON that comes in pieces',
    (size) => JSON.stringify(times(size, (index) => ({ a: `${index}"` }))),
    (text) => {
      const end = new JsonEnd('any');
      for (const piece of inPieces(Buffer.from(text), 16)) end.pushBytes(piece);
      return end.isWhole();
    },
  ),
  reading(
    'gRPC stream',
    'a long list that is kept as JSON',
    (size) => JSON.stringify(times(size, (index) => ({ index, token: 'a' }))),
    (text) => JSON.stringify(new JsonBytes(text)),
  ),
  reading(
    'gRPC stream',
    'a health check of a long name',
    (size) => 'a'.repeat(size),
    (text) => {
      const length = [0, 7, 14].map((shift) => 0x80 | ((text.length >> shift) & 0x7f));
      return deserializeHealthCheck(
        Buffer.concat([Buffer.from([10, ...length, text.length >> 21]), Buffer.from(text)]),
      );
    },
  ),
  {
    ...{ door: 'gRPC stream', name: 'a reply with headers and a body' },
    make(size) {
      const headers = { set: keyed(size, 'x-', () => 'v') as Record<string, string>, remove: times(size, String) };
      const body = Buffer.alloc(size);
      const run = () => {
        const modes = { request: 'BUFFERED', response: 'FULL_DUPLEX_STREAMED' } as const;
        const bytes = serializeReply({ type: 'response_body', headers, body, endOfStream: true }, modes);
        return { ...nothing, sent: bytes.length };
      };
      return { bytes: 20 * size, run };
    },
  },
];

// WebSockets.

const roomy: SessionOptions = {
  ...{ maxLanes: 8, maxWaiting: 32, maxUnasked: 1e6, maxKept: 1e9, maxHeld: 1e9 },
  ...{ maxEventBytes: 1e8, maxErrorBytes: 1e6, maxValues: 1e6 },
};

const create = (more: object) => Buffer.from(JSON.stringify({ type: 'response.create', model: 'm', ...more }));
const event = (fields: object) => Buffer.from(`data: ${JSON.stringify(fields)}\n\n`);
const begun = event({ type: 'response.created', response: { id: 'resp_1', output: [] } });
const hi = { role: 'user', content: 'Hi' };

function answer(session: WebSocketSession, turn: number, pieces: readonly Buffer[]): void {
  const listener = session.answer(turn);
  listener.headers({ status: 200, contentType: 'text/event-stream', retryAfter: null });
  for (const piece of pieces) listener.body(piece);
}

const completed = (id: string, output: readonly object[]) =>
  event({ type: 'response.completed', response: { id, output } });

function session(
  door: string,
  name: string,
  prepare: (size: number) => { bytes: number; play: (session: WebSocketSession) => void },
  limits = roomy,
): Family {
  return {
    ...{ door, name },
    make(size) {
      const { bytes, play } = prepare(size);
      const run = (): Outcome => {
        const started = startWebSocketSession(limits);
        play(started);
        const sent = started.take().reduce((sum, line) => sum + line.length, 0);
        return { sent, counted: started.held() + started.kept(), kept: started.connection, refused: null };
      };
      return { bytes, run };
    },
  };
}

/** So many messages, one after the other, the first of which starts a turn that hangs. */
function flood(name: string, of: (index: number, size: number) => Buffer): Family {
  return session('WebSocket: frames', name, (size) => {
    const all = [create({ input: 'x' }), ...times(size, (index) => of(index, size))];
    return {
      bytes: all.reduce((sum, { length }) => sum + length, 0),
      play: ({ connection }) => {
        for (const message of all) connection.message(message);
      },
    };
  });
}

/** The end of a turn behind which such messages wait. */
function afterFlood(name: string, of: (index: number) => Buffer): Family {
  return session('WebSocket: frames', name, (size) => {
    const all = times(size, of);
    const quick = create({ input: 'x', stream_id: 'quick' });
    return {
      bytes: all.reduce((sum, { length }) => sum + length, quick.length),
      play: (started) => {
        started.connection.message(create({ input: 'x' }));
        for (const message of all) started.connection.message(message);
        answer(started, 1, [begun, completed('resp_1', [])]);
        started.answer(1).end();
      },
    };
  });
}

const interrupt = { type: 'response.interrupt', response_id: 'resp_1', mode: 'discard_partial_items' };

/** Refused messages behind a turn that hangs, and now and then a quick turn in another lane: then the turn ends. */
const refusedBehindTurn = session(
  'WebSocket: frames',
  'the end of a turn behind which refused messages wait',
  (size) => {
    const refused = Buffer.from(`{"a":"${'x'.repeat(100)}"}`);
    const end = [begun, completed('resp_1', [])];
    return {
      bytes: refused.length * 8 * size,
      play: (started) => {
        started.connection.message(create({ input: 'x' }));
        answer(started, 1, [begun]);
        for (const round of times((8 * size) / 100, (index) => index + 2)) {
          for (let count = 0; count < 100; count += 1) started.connection.message(refused);
          started.connection.message(create({ input: 'x', stream_id: 'quick' }));
          // There is none once the connection is closed.
          if (started.has(round)) answer(started, round, end);
        }
        started.connection.message(Buffer.from(JSON.stringify(interrupt)));
      },
    };
  },
  { ...roomy, maxWaiting: 32, maxUnasked: 128 },
);

/** Pieces of the proxy's answer to a turn, and then a message. */
function proxied(name: string, pieces: (size: number) => readonly Buffer[], then: object | null = null): Family {
  return session("the proxy's answer to a turn", name, (size) => {
    const all = [begun, ...pieces(size)];
    return {
      bytes: all.reduce((sum, { length }) => sum + length, 0),
      play: (started) => {
        started.connection.message(create({ input: [hi] }));
        answer(started, 1, all);
        if (then !== null) started.connection.message(Buffer.from(JSON.stringify(then)));
      },
    };
  });
}

const item = (index: number) => ({
  id: `msg_${index}`,
  type: 'message',
  content: [{ type: 'output_text', text: 'ab' }],
});
const itemEvents = (size: number) =>
  times(size, (index) => [
    event({ type: 'response.output_item.added', output_index: index, item: item(index) }),
    event({ type: 'response.output_text.delta', output_index: index, delta: 'ab' }),
    ...(index % 2 === 0 ? [event({ type: 'response.output_item.done', output_index: index, item: item(index) })] : []),
  ]).flat();

const sockets: readonly Family[] = [
  {
    ...{ door: 'WebSocket: handshake', name: 'a handshake of many headers' },
    make(size) {
      const raw = [
        ...times(size, (index) => [`x-${index % 9}${index}`, 'v']),
        ['connection', times(9, String).join()],
      ].flat();
      const url = `/v1/responses?${'a&'.repeat(size)}`;
      const headers = { host: `${'a'.repeat(size)}.test`, origin: 'x', 'x-request-id': 'a'.repeat(size) };
      const run = () => {
        const request = { url, headers } as never;
        findHandshakeError(request, times(size, String));
        return { ...nothing, kept: [readForwardedHeaders(raw), readIdentity(request), readQuery(request)] };
      };
      return { bytes: 12 * size, run };
    },
  },
  flood('turns that wait in one lane', () => create({ input: 'x' })),
  flood('turns that wait in several lanes', (index) => create({ input: 'x', stream_id: `lane${index % 8}` })),
  flood('refused messages behind a turn', () => Buffer.from('{}')),
  flood('steering', () => Buffer.from('{"type":"response.steer","input":"a"}')),
  flood('interrupts of nothing', () => Buffer.from(JSON.stringify({ ...interrupt, response_id: 'no' }))),
  flood('a request of many fields', (index, size) => create(index === 0 ? keyed(size, 'field', () => 1) : {})),
  flood('a request of many items', (index, size) => create({ input: index === 0 ? times(size, () => hi) : 'x' })),
  flood('a message that nests', (index, size) => Buffer.from(`{"a":${'['.repeat(index === 0 ? size : 1)}`)),
  flood('messages of colons', (index, size) => Buffer.from(`{"a"${':'.repeat(index === 0 ? size : 1)}`)),
  afterFlood('the end of a turn behind which turns wait', () => create({ input: 'x' })),
  refusedBehindTurn,
  reading(
    'WebSocket: frames',
    'pictures that are looked for in a conversation',
    (size) => `{"role":"user","content":[${'{"type":"input_image","file_id":"f"},'.repeat(size)}7]}`,
    (text) => findMediaBytes(Buffer.from(text)),
  ),
  session('WebSocket: frames', 'a turn of a long conversation', (size) => {
    const first = create({ input: times(size, () => hi) });
    const output = times(size, item);
    return {
      bytes: first.length + completed('resp_1', output).length,
      play: (started) => {
        started.connection.message(first);
        answer(started, 1, [begun, completed('resp_1', output)]);
        started.answer(1).end();
        started.connection.message(create({ input: [hi], previous_response_id: 'resp_1' }));
      },
    };
  }),
  proxied('events', (size) => times(size, () => event({ type: 'response.output_text.delta', delta: 'ab' }))),
  proxied('events in pieces of a byte', (size) => inPieces(event({ type: 'x', delta: 'a'.repeat(size) }), 1)),
  proxied('items', itemEvents),
  proxied('items that are interrupted', itemEvents, interrupt),
  proxied('a long Response', (size) => [completed('resp_1', times(size, item))]),
  proxied('lines that are no event', (size) => [Buffer.from('x\n'.repeat(size))]),
  reading(
    "the proxy's answer to a turn",
    'an event of many values',
    (size) => JSON.stringify({ type: 'x', values: times(size, () => ['a:b', { c: '"' }]) }),
    (text) => readStreamEvent(text, 1e6),
  ),
];

// The inspector.

const admin = 'admin port, inspector';
const headers = headersOf({ ':method': 'POST', ':path': '/v1/responses', 'content-type': 'application/json' });

/** The exchange keeps what it recorded of an event that has not ended. */
function record(store: ExchangeStore, request: Buffer, pieces: readonly Buffer[]): unknown {
  const exchange = createRecorder(store).createExchange(exchangeOptions());
  repliesOf(exchange, { type: 'request_headers', headers, endOfStream: false });
  repliesOf(exchange, { type: 'request_body', body: request, endOfStream: true });
  const answered = headersOf({ ':status': '200', 'content-type': 'text/event-stream' });
  repliesOf(exchange, { type: 'response_headers', headers: answered, endOfStream: false });
  for (const body of pieces) repliesOf(exchange, { type: 'response_body', body, endOfStream: false });
  return exchange;
}

const chunks = (size: number) => times(size, () => ({ choices: [{ index: 0, delta: { content: 'ab' } }] }));

function recorded(name: string, given: (size: number) => { request: object; pieces: readonly Buffer[] }): Family {
  return {
    ...{ door: admin, name: `what is recorded of ${name}` },
    make(size) {
      const { request, pieces } = given(size);
      const body = Buffer.from(JSON.stringify({ model: 'm', input: 'x', stream: true, ...request }));
      const run = () => {
        const store = createExchangeStore();
        const exchange = record(store, body, pieces);
        const [kept] = store.list();
        if (kept !== undefined)
          JSON.stringify([
            buildExchangeRow(kept),
            buildExchangePart(
              kept,
              buildPerBody(() => 0),
            ),
            buildExplainedRequest(kept).file,
          ]);
        return { ...nothing, counted: store.heldBytes, kept: [store, exchange] };
      };
      return { bytes: pieces.reduce((sum, { length }) => sum + length, body.length), run };
    },
  };
}

/** The first look at the list, and what is found in it. */
function listed(name: string, fill: (store: ExchangeStore, size: number) => void, text = ''): Family {
  return {
    ...{ door: admin, name },
    make: (size) => ({
      bytes: 400 * size,
      async run() {
        const store = createExchangeStore({ maxBytes: 1e9, maxExchanges: 1e6 });
        fill(store, size);
        const stop = new AbortController();
        for await (const event of createListEvents(store)(text, stop.signal))
          if (event.startsWith(text === '' ? ']}' : 'event: found')) break;
        return { ...nothing, counted: store.heldBytes, kept: store };
      },
    }),
  };
}

function fillWith(store: ExchangeStore, bodies: Readonly<Record<string, string>>): void {
  const exchange = store.open(1);
  exchange.setHead('client_request', requestHead);
  exchange.setHead('chat_request', requestHead);
  for (const [name, text] of Object.entries(bodies)) addBytes(exchange, name as 'chat_request', 0, text);
  exchange.setFacts(overFacts);
}

const turnsUpTo = (count: number) =>
  times(count, (index) => ({ role: index % 2 === 0 ? 'user' : 'assistant', content: `w${index}` }));

/** Credentials, and a text in which each is looked for. */
const redacted = (name: string, text: (size: number) => string) =>
  reading(admin, `the credentials of ${name}`, text, (given) =>
    (['request', 'answer', 'error'] as const).map((kind) => new Redactor().body(given, kind).length),
  );

const inspector: readonly Family[] = [
  recorded('a stream', (size) => ({ request: {}, pieces: chunks(size).map((chunk) => eventsOf([chunk])) })),
  recorded('a stream in one piece', (size) => ({ request: {}, pieces: [eventsOf(chunks(size))] })),
  recorded('an event in pieces of a byte', (size) => ({
    request: {},
    pieces: inPieces(Buffer.from(`data: {"a":"${'a'.repeat(20 * size)}`), 1),
  })),
  recorded('a long request', (size) => ({ request: { input: times(size, () => hi) }, pieces: [] })),
  recorded('keys and a text', (size) => ({
    request: {
      ...keyed(Math.min(size, 16), 'api_key', (index) => `a1${'a'.repeat(size)}${index}`),
      input: 'a'.repeat(32 * size),
    },
    pieces: [],
  })),
  {
    ...{ door: admin, name: 'what is recorded of a refused message' },
    make(size) {
      const message = create({ input: times(size, () => hi) });
      const run = () => {
        const store = createExchangeStore();
        const error = { message: 'no', code: 'c', type: 't', param: null };
        const refusal = { id: 'a', turn: 1, userAgent: null, status: 400, error };
        createRecorder(store).refused(refusal as never, message);
        return { ...nothing, counted: store.heldBytes, kept: store };
      };
      return { bytes: message.length, run };
    },
  },
  listed('the list of exchanges', (store, size) => {
    for (const index of times(size, Number))
      fillWith(store, { chat_request: `{"messages":[{"role":"user","content":"${index}"}]}` });
  }),
  listed('the list of a long conversation', (store, size) =>
    fillWith(store, {
      client_request: JSON.stringify({ input: turnsUpTo(8 * size) }),
      chat_request: JSON.stringify({ messages: turnsUpTo(8 * size) }),
      client_response: eventsOf(chunks(size)).toString(),
    }),
  ),
  listed(
    'a text that is looked for in answers',
    (store, size) => fillWith(store, { client_response: eventsOf(chunks(4 * size)).toString() }),
    'not there',
  ),
  redacted('a text of keys', (size) => '"api_key":"a1b2c3d4e5"'.repeat(size)),
  redacted('addresses', (size) => 'https://a:b@c.test/?key=1 '.repeat(size)),
  ...['{"a":"', '":"', '://', ':////@', 'sk-', 'eyJ-', '"headers":{', '"headers":{"a":"', '\\"', '\\', 'token '].map(
    (text) => redacted(`nothing but ${text}`, (size) => text.repeat(8 * size)),
  ),
  ...['"password":["', '"password":1', ': ', '"error":"', 'key=', 'a-', 'key:"', 'key=a,', 'key: ', 'pwd:a '].map(
    (text) => redacted(`nothing but ${text}`, (size) => text.repeat(8 * size)),
  ),
  redacted('values and a text that begins like each', (size) => {
    const values = keyed(Math.min(size, 128), 'api_key', (index) => `${'a'.repeat(size)}1${index}`);
    return JSON.stringify({ ...values, input: 'a'.repeat(32 * size) });
  }),
  // V8's own search goes on by one place where values differ from the text there.
  ...(
    [
      ['that differ in their middle', (index) => `${'a'.repeat(2000 + index)}1${'a'.repeat(2095 - index)}`, 'a'],
      ['that differ behind what is searched for', (index) => `${'a'.repeat(3000 + index)}1`, 'a'],
      ['that differ at the end of it', (index) => `${'a'.repeat(63)}${index}`, 'a'],
      ['whose beginning is there often', (index) => `${'ab'.repeat(32)}${index}`, 'ab'],
    ] satisfies [string, (index: number) => string, string][]
  ).map(([which, of, letters]) =>
    redacted(`16 values ${which}`, (size) =>
      JSON.stringify({ ...keyed(16, 'api_key', of), input: letters.repeat(512 * size) }),
    ),
  ),
];

// What is explained: each field is run again under other settings, so that these are few.

const setup = explainSetupOf({});
function explained(name: string, body: (size: number) => object): Family {
  return {
    ...{ door: admin, name: `what is explained of ${name}`, size: 3 },
    make(size) {
      const bytes = Buffer.from(JSON.stringify({ model: 'm', input: 'x', ...body(size) }));
      const request = { method: 'POST', path: '/v1/responses', headers: new Map(), body: bytes };
      const run = () => {
        // Sent to nobody but who asked for it: a line for each field.
        JSON.stringify(explainRequest({ setup, request, now: createdAt, fields: null, linkBase: '' }));
        return nothing;
      };
      return { bytes: bytes.length, run };
    },
  };
}

const call = { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' };
const explanations: readonly Family[] = [
  explained('developers', (size) => ({
    input: times(size, () => ({ role: 'developer', content: 'a rule '.repeat(60) })),
  })),
  explained('outputs of one call', (size) => ({
    input: [call, ...times(size, () => ({ type: 'function_call_output', call_id: 'c', output: 'x' }))],
  })),
  explained('items with keys of their own', (size) => ({
    input: times(size, (index) => ({ ...hi, [`key${index}`]: 1 })),
  })),
  explained('mistakes behind a long input', (size) => ({
    input: times(size, () => hi),
    tools: times(3, () => ({ type: 'mcp', server_label: 'l'.repeat(200) })),
  })),
];

// What an operator writes, and what servers answer to `doctor`.

const rulesOf = (size: number) =>
  Object.fromEntries(times(size, (index) => [`/m${index}/`, { developerRole: 'system' }]));

const answeredTo = (body: string, contentType: string) => {
  const head = { outcome: 'answered', status: 200, keepAlive: null, retryAfter: null, location: null } as const;
  return readChatAnswer({ ...head, contentType, body, reason: '', milliseconds: 1 });
};
const streams = (name: string, of: (size: number) => readonly object[]) =>
  reading(
    'answers to `doctor`',
    `an answer to doctor of ${name}`,
    (size) => eventsOf(of(size)).toString(),
    (text) => answeredTo(text, 'text/event-stream'),
  );
const argumentsOf = (text: string, name?: string) => ({
  choices: [{ index: 0, delta: { tool_calls: [{ index: 0, function: { name, arguments: text } }] } }],
});

const operators: readonly Family[] = [
  reading(
    'profiles file',
    'a file of profiles',
    (size) => JSON.stringify({ profiles: keyed(size, 'profile', () => ({ extends: 'vllm' })) }),
    (text) => readProfilesFile(text, 'file'),
  ),
  reading(
    'profiles file',
    'a profile of many models',
    (size) => JSON.stringify({ profiles: { mine: { extends: 'vllm', models: rulesOf(size) } } }),
    (text) => readProfilesFile(text, 'file'),
  ),
  ...settingsIn(settingTable).flatMap(({ variable, file }) =>
    file === null
      ? []
      : [
          reading(
            'files of settings',
            `the file of ${variable}`,
            (size) => JSON.stringify(keyed(size, 'model', () => ({ context_window: 1 }))),
            (text) => {
              try {
                return file.read(text);
              } catch {
                return null;
              }
            },
          ),
        ],
  ),
  streams('text', chunks),
  streams('counts', (size) => [
    ...chunks(1),
    { choices: [], usage: keyed(size, 'key', () => 1) },
    ...times(size, () => ({ choices: [], usage: { completion_tokens: 1 } })),
  ]),
  streams('arguments of white space', (size) => [
    argumentsOf('', 'f'),
    ...times(size, () => argumentsOf(' '.repeat(100))),
    argumentsOf('{}'),
  ]),
  streams('texts that repeat all before', (size) =>
    times(size, (index) => ({ choices: [{ index: 0, delta: { content: 'word '.repeat(Math.min(index, 20)) } }] })),
  ),
  reading(
    'answers to `doctor`',
    'an answer to doctor in JSON',
    (size) =>
      JSON.stringify({
        choices: [{ message: { content: `<think>${'a<'.repeat(size)}` } }],
        ...keyed(size, 'k', () => 1),
      }),
    (text) => answeredTo(text, 'application/json'),
  ),
];

export const doors: readonly Family[] = [...messages, ...sockets, ...inspector, ...explanations, ...operators];
