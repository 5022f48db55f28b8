import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * A Chat server whose model does whatever it is asked, except where the behaviour differs, for the probes of the doctor.
 * Nothing here knows how requests are judged.
 */
export interface Behaviour {
  /** Throws for a body that is refused; a message may begin with a status other than 400. */
  check?(body: ProbedBody): void;
  /** Requests that are never answered. */
  hangs?(body: ProbedBody): boolean;
  /** Fields that are ignored. */
  readonly ignores?: readonly string[];
  /** They are ignored only in requests that have this field. */
  readonly ignoresWith?: string;
  /** Each delta of a stream has all of the text so far. */
  readonly cumulative?: true;
  /** Where the model's reasoning goes: a field's name, or into the text. */
  readonly reasoning?: 'reasoning_content' | 'reasoning' | 'tags' | 'closing tag';
  /** A field of the request with which reasoning in the text comes as `reasoning_content` instead. */
  readonly reasoningField?: string;
  /** Fields of earlier reasoning that count as prompt. */
  readonly replay?: readonly string[];
  /** Another answer than the model's, by path, for some requests. */
  respond?(path: string, body: ProbedBody | null, request: IncomingMessage): Reply | null;
}

interface Reply {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string;
}

/** The part of a Chat request that the model looks at. */
export interface ProbedBody {
  readonly model: string;
  readonly messages: readonly ProbedMessage[];
  readonly stream?: boolean;
  readonly stream_options?: { readonly include_usage?: boolean };
  readonly tools?: readonly { readonly type: string; readonly function: { readonly name: string } }[];
  readonly tool_choice?: unknown;
  readonly parallel_tool_calls?: boolean;
  readonly response_format?: { readonly type: string };
  readonly max_tokens?: number;
  readonly max_completion_tokens?: number;
  readonly logprobs?: boolean;
  readonly stop?: readonly string[];
  readonly reasoning_effort?: string;
  readonly [field: string]: unknown;
}
interface ProbedMessage {
  readonly role: string;
  readonly content?: unknown;
  readonly [field: string]: unknown;
}

/** A running server. */
export interface ProbedServer {
  readonly port: number;
  /** Everything that arrived. */
  readonly requests: readonly {
    readonly path: string;
    readonly headers: IncomingMessage['headers'];
    readonly body: ProbedBody | null;
  }[];
  close(): Promise<void>;
}

/** Starts such a server for `use`, which gets its URL too, and closes it. */
export async function withServer<Result>(
  behaviour: Behaviour,
  use: (server: ProbedServer, url: string) => Promise<Result>,
): Promise<Result> {
  const server = await startProbedServer(behaviour);
  try {
    return await use(server, `http://127.0.0.1:${server.port}`);
  } finally {
    await server.close();
  }
}

/** Starts one on 127.0.0.1. */
export async function startProbedServer(behaviour: Behaviour = {}): Promise<ProbedServer> {
  const requests: { path: string; headers: IncomingMessage['headers']; body: ProbedBody | null }[] = [];
  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy());
  });
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    const text = Buffer.concat(pieces).toString('utf8');
    const body = text === '' ? null : (JSON.parse(text) as ProbedBody);
    const path = request.url ?? '';
    requests.push({ path, headers: request.headers, body });
    if (body !== null && behaviour.hangs?.(body)) return;
    const reply = behaviour.respond?.(path, body, request) ?? (body === null ? null : refusal(behaviour, body));
    if (reply !== null) {
      response.writeHead(reply.status, { 'content-type': 'application/json', ...reply.headers }).end(reply.body);
      return;
    }
    if (body === null || !path.endsWith('/chat/completions')) {
      response.writeHead(404, { 'content-type': 'application/json' }).end('{"error":{"message":"no such path"}}');
      return;
    }
    const ignores = behaviour.ignoresWith === undefined || body[behaviour.ignoresWith] !== undefined;
    const read = withoutFields(body, ignores ? (behaviour.ignores ?? []) : []);
    await play(behaviour, response, read, sayAs(behaviour, read));
  }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    requests,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function refusal({ check }: Behaviour, body: ProbedBody): Reply | null {
  const fail = (status: number, message: string) => ({ status, body: JSON.stringify({ error: { message } }) });
  if (!Array.isArray(body.messages)) return fail(400, 'messages must be an array');
  if (body.model === 'no-such-model-0') return fail(404, 'The model does not exist.');
  try {
    check?.(body);
    return null;
  } catch (thrown) {
    const { message } = thrown as Error;
    if (message.startsWith('200 ')) return { status: 200, body: '' };
    return fail(Number(/^5\d\d/.exec(message)?.[0] ?? 400), message);
  }
}

interface Said {
  readonly text: string;
  readonly calls: readonly { readonly id: string; readonly name: string; readonly arguments: string }[];
  readonly reasoning: Readonly<Record<string, string>>;
}

const thought = 'I think about it.';

function withoutFields(body: ProbedBody, names: readonly string[]): ProbedBody {
  return Object.fromEntries(Object.entries(body).filter(([name]) => !names.includes(name))) as ProbedBody;
}

function sayAs(behaviour: Behaviour, body: ProbedBody): Said {
  const plain = modelSays(body);
  const place = body.reasoning_effort === 'none' ? undefined : behaviour.reasoning;
  const moved = behaviour.reasoningField !== undefined && body[behaviour.reasoningField] !== undefined;
  switch (place) {
    case undefined:
      return { ...plain, reasoning: {} };
    case 'tags':
    case 'closing tag':
      if (moved) return { ...plain, reasoning: { reasoning_content: thought } };
      return { ...plain, text: `${place === 'tags' ? '<think>' : ''}${thought}</think>${plain.text}`, reasoning: {} };
    default:
      return { ...plain, reasoning: { [place]: thought } };
  }
}

function modelSays(body: ProbedBody): Omit<Said, 'reasoning'> {
  const last = body.messages.at(-1);
  const said = JSON.stringify(last?.content ?? '');
  const names = (body.tools ?? []).filter(({ type }) => type === 'function').map((tool) => tool.function.name);
  const chosen = chosenOf(body.tool_choice, names);
  const suits = /Oslo|Rome/.test(said) || (body.tool_choice !== undefined && body.tool_choice !== 'auto');
  if (last?.role === 'user' && chosen !== undefined && suits) {
    const asked = ['Oslo', 'Rome'].filter((city) => said.includes(city));
    const cities = asked.length === 0 && body.tool_choice === 'required' ? ['Oslo'] : asked;
    const called = body.parallel_tool_calls === false ? cities.slice(0, 1) : cities;
    return {
      text: '',
      calls: called.map((city, index) => ({ id: `call_${index}`, name: chosen, arguments: JSON.stringify({ city }) })),
    };
  }
  const words = wordsFor(body, said);
  const cut = body.stop?.map((stop) => words.indexOf(stop)).find((at) => at !== -1);
  return { text: cut === undefined ? words : words.slice(0, cut), calls: [] };
}

function chosenOf(choice: unknown, names: readonly string[]): string | undefined {
  if (choice === 'none') return undefined;
  const named = JSON.stringify(choice ?? '');
  if (typeof choice === 'object' && choice !== null && 'function' in choice)
    return names.find((name) => named.includes(`"${name}"`));
  return names[0];
}

function wordsFor(body: ProbedBody, said: string): string {
  if (body.response_format?.type === 'json_schema') return '{"city":"Oslo","population":700000}';
  if (body.response_format?.type === 'json_object') return '{"town":"Oslo"}';
  if (said.includes('Count')) return 'one two three four five six seven eight nine ten '.repeat(8);
  if (said.includes('alpha')) return 'alpha bravo charlie delta';
  if (said.includes('image_url')) return 'Red.';
  if (said.includes('17 degrees')) return 'It is 17 degrees in Oslo.';
  return 'hello';
}

async function play(
  { replay = [], cumulative }: Behaviour,
  response: ServerResponse,
  body: ProbedBody,
  said: Said,
): Promise<void> {
  const limit = Math.min(
    body.max_tokens ?? Number.MAX_SAFE_INTEGER,
    body.max_completion_tokens ?? Number.MAX_SAFE_INTEGER,
  );
  const words = said.text.match(/\s*\S+/g) ?? [];
  const text = words.slice(0, limit);
  const finish = said.calls.length > 0 ? 'tool_calls' : words.length > limit ? 'length' : 'stop';
  const unread = ['reasoning_content', 'reasoning'].filter((field) => !replay.includes(field));
  const counted = (key: string, value: unknown) => (unread.includes(key) ? undefined : value);
  const prompt = JSON.stringify(body.messages, counted).length;
  const usage = {
    prompt_tokens: Math.ceil(prompt / 4),
    completion_tokens: text.length + 1,
    total_tokens: Math.ceil(prompt / 4) + text.length + 1,
  };
  const calls = said.calls.map(({ id, ...call }, index) => ({ index, id, type: 'function', function: call }));
  const logprobs = body.logprobs ? { content: text.map((token) => ({ token, logprob: -0.1 })) } : null;
  if (body.stream !== true) {
    const message = {
      role: 'assistant',
      content: text.join(''),
      ...said.reasoning,
      ...(calls.length > 0 && { tool_calls: calls }),
    };
    const choices = [{ index: 0, message, finish_reason: finish, logprobs }];
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ object: 'chat.completion', choices, usage }));
    return;
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const send = (value: object) => response.write(`data: ${JSON.stringify(value)}\n\n`);
  const delta = (fields: object, finish_reason: string | null = null) =>
    send({ object: 'chat.completion.chunk', choices: [{ index: 0, delta: fields, finish_reason }] });
  delta({ role: 'assistant', content: '' });
  if (Object.keys(said.reasoning).length > 0) delta(said.reasoning);
  for (const [index, piece] of text.entries()) {
    delta({ content: cumulative ? text.slice(0, index + 1).join('') : piece });
    if (text.length > 50) await new Promise((resolve) => setImmediate(resolve));
  }
  for (const call of calls) {
    delta({ tool_calls: [{ ...call, function: { name: call.function.name, arguments: '' } }] });
    delta({ tool_calls: [{ index: call.index, function: { arguments: call.function.arguments } }] });
  }
  delta({}, finish);
  if (body.stream_options?.include_usage) send({ object: 'chat.completion.chunk', choices: [], usage });
  response.end('data: [DONE]\n\n');
}
