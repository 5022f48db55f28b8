import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { connectExtProc, type ExtProcCall, type ExtProcClient } from '../support/extproc-client.ts';
import { sendRequest } from '../support/scripted-exchange.ts';
import { type ServiceProcess, startServiceProcess } from '../support/service-process.ts';
import { settled } from '../support/settled.ts';

const text = 'All that was asked for. '.repeat(80_000);
const instructions = 'x'.repeat(500_000);
const chunk = (choice: object) => `data: ${JSON.stringify({ model: 'm', choices: [{ index: 0, ...choice }] })}\n\n`;

let service: ServiceProcess;
let client: ExtProcClient;
beforeAll(async () => {
  service = await startServiceProcess({});
  client = connectExtProc(service.listen[0] ?? '');
});
afterAll(async () => {
  client.close();
  await service.remove();
});

/** A call whose upstream has sent the whole answer, and whose proxy has read nothing of what became of it. */
async function answered(): Promise<ExtProcCall> {
  const { call } = await sendRequest(client, JSON.stringify({ model: 'm', input: 'Hi', stream: true, instructions }));
  call.pause();
  const headers = new Map([
    [':status', '200'],
    ['content-type', 'text/event-stream'],
  ]);
  call.send({ type: 'response_headers', headers, endOfStream: false });
  const send = (body: string, endOfStream: boolean) =>
    call.send({ type: 'response_body', body: Buffer.from(body), endOfStream });
  send(chunk({ delta: { content: text } }), false);
  send(`${chunk({ delta: {}, finish_reason: 'stop' })}data: [DONE]\n\n`, true);
  return call;
}

/** All bytes for the client, up to the end of its stream. */
async function read(call: ExtProcCall): Promise<string> {
  const pieces: Buffer[] = [];
  for (;;) {
    const reply = await call.next();
    const body = reply.response_body?.response?.body_mutation?.streamed_response;
    if (body?.body) pieces.push(Buffer.from(body.body));
    if (body?.end_of_stream) return Buffer.concat(pieces).toString();
  }
}

const held = () => service.metric('responses_extproc_buffered_bytes');

describe('a long answer to a proxy that does not read', () => {
  test('waits as what it is made of, and comes whole when it is read', async () => {
    const call = await answered();
    // The text twice at most, as its pieces and whole; instructions once; what waits in the connection.
    await expect.poll(held).toBeGreaterThan(text.length);
    // Each answer with the metrics is a turn of the service.
    expect(await settled(held)).toBeLessThan(1.5 * (text.length + instructions.length));
    call.resume();
    const stream = await read(call);
    expect(stream.length).toBeGreaterThan(4 * text.length + 3 * instructions.length);
    const last = JSON.parse(
      /^data: (.*"type":"response.completed".*|.*)\n\ndata: \[DONE\]/m.exec(stream)?.[1] ?? '',
    ) as object;
    expect(last).toMatchObject({ type: 'response.completed', response: { instructions, status: 'completed' } });
    expect(JSON.stringify(last)).toContain(text);
    call.cancel();
    await expect.poll(held).toBe(0);
  });

  test('comes whole when the proxy has said all it has to say', async () => {
    const call = await answered();
    call.halfClose();
    call.resume();
    expect(await read(call)).toContain('data: [DONE]');
    expect((await call.status).code).toBe(0);
    await expect.poll(held).toBe(0);
  });

  test('is dropped with its call', async () => {
    const call = await answered();
    await expect.poll(held).toBeGreaterThan(text.length);
    call.cancel();
    await expect.poll(held).toBe(0);
    expect(await service.metric('responses_extproc_active_exchanges')).toBe(0);
  });
});
