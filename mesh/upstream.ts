import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  answerDemo,
  countWords,
  type DemoAnswer,
  type DemoRequest,
  demoModels,
  readMessageText,
} from './demo-model.ts';

/** A small Chat Completions server, so that the mesh can be tried without a model. */
export interface EmbeddedUpstream {
  readonly port: number;
  close(): Promise<void>;
}

export async function startEmbeddedUpstream({ host = '127.0.0.1', port = 0 } = {}): Promise<EmbeddedUpstream> {
  const server = createServer((request, response) => {
    answerRequest(request, response).catch((error: unknown) => {
      if (response.headersSent) response.destroy();
      else sendError(response, 400, error instanceof Error ? error.message : String(error));
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  const address = server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function answerRequest(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const path = request.url?.split('?')[0];
  if (request.method === 'GET' && path === '/v1/models') {
    const data = demoModels.map((id) => ({ id, object: 'model', created: 0, owned_by: 'responses-extproc' }));
    return sendJson(response, 200, { object: 'list', data });
  }
  if (request.method !== 'POST' || path !== '/v1/chat/completions')
    return sendError(response, 404, `No such path: ${path}`);
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece);
  const chat = JSON.parse(Buffer.concat(pieces).toString('utf8')) as DemoRequest;
  const status = Number(/^demo-error-([45]\d\d)$/.exec(chat.model)?.[1]);
  if (status) return sendError(response, status, `The model ${chat.model} always fails.`);
  if (!chat.model.startsWith('demo'))
    return sendError(response, 404, `The model ${chat.model} does not exist: try demo.`);

  if (!Array.isArray(chat.messages)) return sendError(response, 400, 'messages must be an array.');
  const demo = answerDemo(chat);
  if (chat.stream !== true) return sendJson(response, 200, buildCompletion(chat, demo));
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const pause = chat.model === 'demo-slow' ? 300 : 20;
  for (const delta of splitIntoDeltas(demo)) {
    send(response, buildChunk(chat, delta, null));
    await sleep(pause);
    if (response.destroyed) return;
  }
  send(response, buildChunk(chat, {}, chooseFinishReason(demo)));
  if (chat.stream_options?.include_usage)
    send(response, { ...buildChunk(chat, {}, null), choices: [], usage: countUsage(chat, demo) });
  response.end('data: [DONE]\n\n');
}

/** Splits an answer into deltas: the role, then a word at a time, then each call's arguments in pieces. */
function* splitIntoDeltas({ reasoning, text, calls }: DemoAnswer): Generator<Record<string, unknown>> {
  yield { role: 'assistant', content: '' };
  for (const word of reasoning.match(/\s*\S+/g) ?? []) yield { reasoning_content: word };
  for (const word of text.match(/\s*\S+/g) ?? []) yield { content: word };
  for (const [index, call] of calls.entries()) {
    yield { tool_calls: [{ index, id: call.id, type: 'function', function: { name: call.name, arguments: '' } }] };
    for (const piece of call.arguments.match(/.{1,8}/gsu) ?? [])
      yield { tool_calls: [{ index, function: { arguments: piece } }] };
  }
}

function buildCompletion(chat: DemoRequest, demo: DemoAnswer): unknown {
  const message = {
    role: 'assistant',
    content: demo.calls.length > 0 ? null : demo.text,
    ...(demo.reasoning === '' ? {} : { reasoning_content: demo.reasoning }),
    ...(demo.calls.length === 0
      ? {}
      : { tool_calls: demo.calls.map(({ id, ...call }) => ({ id, type: 'function', function: call })) }),
  };
  const choices = [{ index: 0, message, finish_reason: chooseFinishReason(demo) }];
  return { ...buildStamp(chat), object: 'chat.completion', choices, usage: countUsage(chat, demo) };
}

function buildChunk(chat: DemoRequest, delta: Record<string, unknown>, finish_reason: string | null): object {
  return { ...buildStamp(chat), object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason }] };
}

function buildStamp(chat: DemoRequest): object {
  return { id: 'chatcmpl-demo', created: 0, model: chat.model };
}

function chooseFinishReason(demo: DemoAnswer): string {
  return demo.calls.length > 0 ? 'tool_calls' : 'stop';
}

function countUsage(chat: DemoRequest, demo: DemoAnswer): unknown {
  const prompt_tokens = chat.messages.reduce((sum, message) => sum + countWords(readMessageText(message)), 0);
  const reasoning_tokens = countWords(demo.reasoning);
  const completion_tokens =
    reasoning_tokens + countWords(demo.text) + countWords(demo.calls.map((call) => call.arguments).join(' '));
  return {
    prompt_tokens,
    completion_tokens,
    total_tokens: prompt_tokens + completion_tokens,
    prompt_tokens_details: { cached_tokens: 0 },
    completion_tokens_details: { reasoning_tokens },
  };
}

function send(response: ServerResponse, chunk: object): void {
  response.write(`data: ${JSON.stringify(chunk)}\n\n`);
}

function sendJson(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}

function sendError(response: ServerResponse, status: number, message: string): void {
  if (status === 429) response.setHeader('retry-after', '7');
  sendJson(response, status, { error: { message, type: 'demo_error', param: null, code: null } });
}
