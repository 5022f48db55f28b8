import { readFileSync } from 'node:fs';
import {
  createServer as createHttp1,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import { createServer as createHttp2, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2';
import { createServer as createHttps } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** In a body: end the connection here, without the end of the response; `reset` with a TCP (or stream) reset. */
export const cut = Symbol('cut');
export const reset = Symbol('reset');

/** A step of a response body: bytes to write, milliseconds to wait, something to wait for, or an abrupt end. */
export type BodyStep = string | Uint8Array | number | (() => Promise<unknown>) | typeof cut | typeof reset;

/** A promise that the test fulfils: the upstream waits for it. */
export function gate(): { open(): void; readonly passed: () => Promise<void> } {
  let open = () => {};
  const promise = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open: () => open(), passed: () => promise };
}

/** What the upstream does with one request. */
export interface Script {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Iterable<BodyStep>;
  readonly trailers?: Readonly<Record<string, string>>;
}

/** A request as it arrived. */
export interface Received {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly httpVersion: string;
  /** The name that the client's TLS asked for (SNI). */
  readonly serverName: string | undefined;
  readonly body: Buffer;
  /** The body as JSON. */
  json(): ChatRequest;
  /** Resolves when the response is over: true if the whole script was sent, false if the other side disconnected before. */
  readonly over: Promise<boolean>;
}
/** The part of a Chat request that tests look at. */
export interface ChatRequest {
  readonly model: string;
  readonly messages: readonly Record<string, unknown>[];
  readonly [field: string]: unknown;
}

/** A Chat server that follows each test's script, and records its requests. */
export interface ScriptedUpstream {
  readonly port: number;
  /** Answers to the requests that name this script in `x-test-script` (or as their model), in order; the last one repeats. */
  script(name: string, ...scripts: readonly (Script | ((request: Received) => Script))[]): void;
  /** Requests that arrived for this script, in order. */
  received(name: string): readonly Received[];
  /** All requests that arrived, for any script. */
  readonly all: readonly Received[];
  close(): Promise<void>;
}

/** Starts one; with `http2` it speaks HTTP/2 with prior knowledge, else HTTP/1.1, over TLS with that certificate. */
export async function startScriptedUpstream({
  http2 = false,
  port = 0,
  host = '127.0.0.1',
  tls,
}: {
  readonly http2?: boolean;
  readonly port?: number;
  readonly host?: string;
  readonly tls?: { readonly certFile: string; readonly keyFile: string };
} = {}): Promise<ScriptedUpstream> {
  const scripts = new Map<string, (Script | ((request: Received) => Script))[]>();
  const arrived = new Map<string, Received[]>();
  const all: Received[] = [];
  const sockets = new Set<Socket>();

  async function onRequest(
    request: IncomingMessage | Http2ServerRequest,
    response: ServerResponse | Http2ServerResponse,
  ): Promise<void> {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    const body = Buffer.concat(pieces);
    let sentAll = false;
    const over = new Promise<boolean>((resolve) => response.once('close', () => resolve(sentAll)));
    const received: Received = {
      method: request.method ?? '',
      path: request.url ?? '',
      headers: request.headers,
      httpVersion: request.httpVersion,
      serverName: 'servername' in request.socket ? String(request.socket.servername) : undefined,
      body,
      json: () => JSON.parse(body.toString('utf8')),
      over,
    };
    const name = nameOf(received);
    const before = arrived.get(name) ?? [];
    arrived.set(name, [...before, received]);
    all.push(received);
    const known = scripts.get(name);
    const chosen = known?.[Math.min(before.length, known.length - 1)];
    const script = typeof chosen === 'function' ? chosen(received) : chosen;
    sentAll = await play(script ?? { status: 599, body: [`no script "${name}"`] }, response);
  }

  const kept = { keepAliveTimeout: 60_000 };
  const certificate = tls && { cert: readFileSync(tls.certFile), key: readFileSync(tls.keyFile) };
  const server = http2 ? createHttp2() : certificate ? createHttps({ ...kept, ...certificate }) : createHttp1(kept);
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    onRequest(request, response).catch(() => response.destroy()); // the other side disconnected while we read
  });
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    script: (name, ...steps) => scripts.set(name, [...steps]),
    received: (name) => arrived.get(name) ?? [],
    all,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

function nameOf(request: Received): string {
  const header = request.headers['x-test-script'];
  if (typeof header === 'string') return header;
  try {
    return String(request.json().model);
  } catch {
    return request.path;
  }
}

/** Returns whether the whole script was sent. */
async function play(script: Script, response: ServerResponse | Http2ServerResponse): Promise<boolean> {
  // The two classes agree in what is used here, but TypeScript cannot call an overloaded method of a union.
  (response as ServerResponse).writeHead(script.status ?? 200, {
    'content-type': 'application/json',
    ...script.headers,
    ...(script.trailers !== undefined && response.req.httpVersionMajor === 1
      ? { trailer: Object.keys(script.trailers).join(', ') }
      : {}),
  });
  for (const step of script.body ?? []) {
    if (response.destroyed || response.closed) return false;
    if (step === cut) {
      (response as ServerResponse).flushHeaders?.();
      if ('stream' in response) response.stream.session?.destroy();
      else response.socket?.end();
      return true;
    }
    if (step === reset) {
      if ('stream' in response)
        response.stream.close(2); // INTERNAL_ERROR
      else (response.socket as Socket | null)?.resetAndDestroy();
      return true;
    }
    if (typeof step === 'number') await sleep(step);
    else if (typeof step === 'function') await step();
    // Wait for a reader that is slower than we are: tests of backpressure rely on it.
    else if (!writeTo(response, step)) await drained(response);
  }
  if (script.trailers !== undefined) response.addTrailers(script.trailers);
  await new Promise<void>((resolve) => {
    (response as ServerResponse).end(() => resolve());
  });
  return true;
}

function writeTo(response: ServerResponse | Http2ServerResponse, bytes: string | Uint8Array): boolean {
  return (response as ServerResponse).write(bytes);
}

function drained(response: ServerResponse | Http2ServerResponse): Promise<void> {
  const emitter = response as ServerResponse;
  return new Promise((resolve) => {
    const go = () => {
      emitter.off('drain', go);
      emitter.off('close', go);
      resolve();
    };
    emitter.on('drain', go);
    emitter.on('close', go);
  });
}

/** A Chat Completions answer as JSON. */
export function completion(message: Record<string, unknown>, finish_reason = 'stop'): string {
  return JSON.stringify({
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1,
    model: 'test',
    choices: [{ index: 0, message: { role: 'assistant', content: null, ...message }, finish_reason }],
    usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
  });
}

/** Headers of an event stream. */
export const eventStream = { 'content-type': 'text/event-stream' } as const;

/** Pieces of a Chat stream, each a whole server-sent event. */
export function delta(fields: Record<string, unknown>): string {
  return chunk({ choices: [{ index: 0, delta: fields, finish_reason: null }] });
}
export function finish(finish_reason: string): string {
  return chunk({ choices: [{ index: 0, delta: {}, finish_reason }] });
}
export function usage(prompt_tokens: number, completion_tokens: number): string {
  return chunk({
    choices: [],
    usage: { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens },
  });
}
export const done = 'data: [DONE]\n\n';

function chunk(fields: Record<string, unknown>): string {
  return `data: ${JSON.stringify({ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'test', ...fields })}\n\n`;
}
