/**
 * The upstream of the bench: a Chat Completions server on bare sockets, so that it costs far less than what is measured.
 * `node bench/upstream.ts` prints the port it took. A stream is one write per token, as vLLM and others send them.
 */
import { createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { fillerOf, type Knobs, knobsIn, tokenText } from './knobs.ts';

const head = 'HTTP/1.1 200 OK\r\nx-request-id: bench\r\n';

const server = createServer((socket) => {
  socket.setNoDelay(true);
  socket.on('error', () => socket.destroy());
  let held: Buffer[] = [];
  socket.on('data', (bytes) => {
    held.push(bytes);
    const request = requestIn(held);
    if (request === null) return;
    held = [];
    answer(socket, request).catch(() => socket.destroy());
  });
});
server.listen(0, '127.0.0.1', () => console.log((server.address() as { port: number }).port));

/** The body of the request, once all of it is there. Envoy sends one after the other on a connection. */
function requestIn(pieces: Buffer[]): Buffer | null {
  const first = pieces[0] as Buffer;
  const end = first.indexOf('\r\n\r\n');
  if (end === -1) return pieces.length > 1 ? requestIn(pieces.splice(0, pieces.length, Buffer.concat(pieces))) : null;
  const headers = first.toString('latin1', 0, end).toLowerCase();
  const size = pieces.reduce((sum, piece) => sum + piece.length, 0) - end - 4;
  const length = /\r\ncontent-length: (\d+)/.exec(headers);
  if (length !== null) return size < Number(length[1]) ? null : Buffer.concat(pieces).subarray(end + 4);
  if (!headers.includes('chunked')) return Buffer.alloc(0);
  const last = pieces.at(-1) as Buffer;
  return last.subarray(-5).equals(lastChunk) ? Buffer.concat(pieces).subarray(end + 4) : null;
}

const lastChunk = Buffer.from('0\r\n\r\n');

async function answer(socket: Socket, body: Buffer): Promise<void> {
  const knobs = knobsIn(body);
  if (knobs === null) throw new Error('The request names no model of the bench.');
  const isStream = body.includes('"stream":true') || body.includes('"stream": true');
  if (isStream) await stream(socket, knobs);
  else json(socket, knobs);
}

const usage = (tokens: number) =>
  `{"prompt_tokens":1234,"completion_tokens":${tokens},"total_tokens":${1234 + tokens},"prompt_tokens_details":{"cached_tokens":1000}}`;

function json(socket: Socket, knobs: Knobs): void {
  const filler = fillerOf(knobs);
  let content = '';
  for (let index = 0; index < knobs.tokens; index++) content += tokenText(index, filler);
  const body = `{"id":"chatcmpl-bench","object":"chat.completion","created":1700000000,"model":"bench","choices":[{"index":0,"message":{"role":"assistant","content":"${content}"},"logprobs":null,"finish_reason":"stop"}],"usage":${usage(knobs.tokens)}}`;
  socket.write(`${head}content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`, 'latin1');
}

async function stream(socket: Socket, knobs: Knobs): Promise<void> {
  const filler = fillerOf(knobs);
  const chunk = (delta: string, finish = 'null') =>
    event(
      `{"id":"chatcmpl-bench0123456789abcdef","object":"chat.completion.chunk","created":1700000000,"model":"bench","choices":[{"index":0,"delta":${delta},"logprobs":null,"finish_reason":${finish}}]}`,
    );
  socket.write(
    `${head}content-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n${chunk('{"role":"assistant","content":""}')}`,
  );
  // A random phase, so that streams that began together do not beat together.
  let next = performance.now() + Math.random() * knobs.pauseMs;
  for (let index = 0; index < knobs.tokens; index++) {
    if (knobs.pauseMs > 0) {
      const wait = next - performance.now();
      if (wait > 0) await sleep(wait);
      next += knobs.pauseMs;
    }
    if (!socket.write(chunk(`{"content":"${tokenText(index, filler)}"}`), 'latin1')) await drained(socket);
  }
  const end = event(
    `{"id":"chatcmpl-bench0123456789abcdef","object":"chat.completion.chunk","created":1700000000,"model":"bench","choices":[],"usage":${usage(knobs.tokens)}}`,
  );
  socket.write(`${chunk('{}', '"stop"')}${end}${event('[DONE]')}0\r\n\r\n`);
}

/** One event as one chunk of HTTP/1.1. */
function event(data: string): string {
  return `${(data.length + 8).toString(16)}\r\ndata: ${data}\n\n\r\n`;
}

function drained(socket: Socket): Promise<void> {
  return new Promise((resolve, reject) => {
    const gone = () => reject(new Error('The client is gone.'));
    if (socket.destroyed) return gone();
    socket.once('close', gone);
    socket.once('drain', () => {
      socket.off('close', gone);
      resolve();
    });
  });
}
