import { createServer, type Http2ServerResponse } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { parentPort } from 'node:worker_threads';

/** A worker that says its URL: the proxy to which turns go. The model says how it answers. */

const server = createServer((request, response) => {
  let head = '';
  request.on('data', (bytes: Buffer) => {
    if (head.length < 200) head += bytes.toString('latin1', 0, 200);
  });
  request.on('end', () => answer(head, response));
});
server.listen(0, '127.0.0.1', () => {
  parentPort?.postMessage(`http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`);
});

let responses = 0;

function answer(head: string, response: Http2ServerResponse): void {
  const id = `resp_${++responses}`;
  if (head.includes('"silent"')) return;
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write(event({ type: 'response.created', response: { id } }));
  if (head.includes('"endless"')) {
    const delta = event({ type: 'response.output_text.delta', delta: 'x'.repeat(16 * 1024) });
    const more = () => {
      while (!response.destroyed && response.write(delta));
    };
    response.on('drain', more);
    more();
    return;
  }
  response.end(event({ type: 'response.completed', response: { id, output: [] } }));
}

function event(fields: Readonly<Record<string, unknown>>): string {
  return `event: ${String(fields['type'])}\ndata: ${JSON.stringify(fields)}\n\n`;
}
