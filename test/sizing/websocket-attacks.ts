import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { openWebSocket } from '../support/websocket-client.ts';

/** Attacks the listener for WebSockets at this address, leaves its sockets open, and resolves when all of it is sent. */
export type WebSocketAttack = (address: string, sockets: Socket[]) => Promise<unknown>;

const MB = 1_000_000;
const KiB = 1024;
const times = (count: number) => Array.from({ length: count }, (_, index) => index);

/** A client's frame; the mask is one that changes nothing. */
function frame(payload: Buffer, { opcode = 1, isLast = true } = {}): Buffer {
  const { length } = payload;
  const head = length < 126 ? Buffer.alloc(6) : length < 65_536 ? Buffer.alloc(8) : Buffer.alloc(14);
  head[0] = (isLast ? 0x80 : 0) | opcode;
  head[1] = 0x80 | (length < 126 ? length : length < 65_536 ? 126 : 127);
  if (length >= 65_536) head.writeBigUInt64BE(BigInt(length), 2);
  else if (length >= 126) head.writeUInt16BE(length, 2);
  return Buffer.concat([head, payload]);
}

const text = (content: string) => frame(Buffer.from(content));
const create = (fields: object) => text(JSON.stringify({ type: 'response.create', ...fields }));
const ping = frame(Buffer.alloc(0), { opcode: 9 });

/** An open socket of a WebSocket, or null where it was refused. Nothing that it gets is looked at. */
function openRaw(address: string, sockets: Socket[], { isWhole = true, reads = true } = {}): Promise<Socket | null> {
  const [host = '', port] = address.split(':');
  return new Promise((resolve) => {
    const socket = connect(Number(port), host);
    sockets.push(socket);
    socket.on('error', () => {});
    socket.once('close', () => resolve(null));
    const head = `GET /v1/responses HTTP/1.1\r\nhost: x\r\nupgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n`;
    socket.write(isWhole ? `${head}\r\n` : `${head}x-more: ${'x'.repeat(8 * KiB)}`);
    if (!isWhole) resolve(socket);
    socket.once('data', (bytes) => {
      if (!reads) socket.pause();
      resolve(bytes.toString('latin1').startsWith('HTTP/1.1 101') ? socket : null);
    });
    if (reads) socket.on('data', () => {});
  });
}

/** Sends it all, as fast as the other side reads, unless the socket is closed before; `forMs` at most. */
async function sendAll(socket: Socket, frames: Iterable<Buffer>, forMs = 20_000): Promise<void> {
  const until = performance.now() + forMs;
  for (const bytes of frames) {
    if (socket.destroyed || performance.now() > until) return;
    if (socket.write(bytes)) continue;
    const isDrained = () => !socket.writableNeedDrain || socket.destroyed || performance.now() > until;
    while (!isDrained()) await sleep(10);
  }
}

/**
 * So many connections, each of which sends these frames. What the handshakes and bytes of a second cost has to be less than a second:
 * Node accepts one connection a turn of its event loop, so more would be an attack on the CPU, and others would wait in the queue.
 */
function flood(
  count: number,
  frames: (index: number) => Iterable<Buffer>,
  { perSecond = 200, ...options }: { perSecond?: number; reads?: boolean; isWhole?: boolean } = {},
): WebSocketAttack {
  return (address, sockets) =>
    Promise.all(
      times(count).map(async (index) => {
        await sleep(Math.floor(index / 50) * (50_000 / perSecond));
        const socket = await openRaw(address, sockets, options);
        if (socket !== null) await sendAll(socket, frames(index));
      }),
    );
}

function* fragments(bytes: number, each: number, between: Buffer | null = null): Generator<Buffer> {
  yield frame(Buffer.from('{"input":"'), { isLast: false });
  const piece = frame(Buffer.alloc(each, 'x'), { opcode: 0, isLast: false });
  for (let sent = 0; sent < bytes; sent += each) {
    yield piece;
    if (between !== null) yield between;
  }
}

/** Turns, one after the other, each of which continues the one before. */
async function converse(address: string, sockets: Socket[], inputs: readonly string[]): Promise<void> {
  const client = await openWebSocket(`http://${address}/v1/responses`).catch(() => null);
  if (client === null) return;
  sockets.push((client.socket as unknown as { readonly _socket: Socket })._socket);
  let previous = {};
  for (const input of inputs) {
    const last = (await client.turn({ model: 'keeps', input, ...previous }).catch(() => [])).at(-1);
    if (last?.response === undefined) return;
    previous = { previous_response_id: last.response.id };
  }
}

/** So many, four at a time. */
async function inTurns(count: number, run: () => Promise<void>): Promise<void> {
  for (let begun = 0; begun < count; begun += 4) await Promise.all(times(4).map(run));
}

const long = (bytes: number) => 'lorem ipsum dolor '.repeat(Math.ceil(bytes / 18));

/** By what comes: the first seven have ended a process before a connection had an account, the others are their neighbours. */
export const webSocketAttacks: Readonly<Record<string, WebSocketAttack>> = {
  'a message of 450,000 names': flood(4, () => [
    text(`{${times(450_000).map((index) => `"name${index}":1`)},"type":"response.create"}`),
  ]),
  'messages in fragments with a ping after each': flood(50, () => fragments(20 * MB, 64_000, ping)),
  'messages that never end': flood(100, () => fragments(20 * MB, 64_000)),
  'fragments of one byte': flood(600, function* () {
    // Many frames in a write, as a network would join them.
    const many = Buffer.concat(times(1000).map(() => frame(Buffer.from('x'), { opcode: 0, isLast: false })));
    yield frame(Buffer.from('{'), { isLast: false });
    for (let sent = 0; sent < 16; sent += 1) yield many;
  }),
  'echoes that nobody reads': flood(40, () => [text(`{"type":"response.steer","input":"${long(9 * MB)}"}`)], {
    reads: false,
  }),
  // Closed, each comes again: what is refused must cost its sender more than this side.
  'messages that are refused': (address, sockets) => {
    const refused = Buffer.concat(times(8000).map(() => text('{}')));
    const until = performance.now() + 20_000;
    return Promise.all(
      times(40).map(async () => {
        while (performance.now() < until) {
          const socket = await openRaw(address, sockets);
          if (socket === null) await sleep(10);
          else
            await sendAll(
              socket,
              times(1000).map(() => refused),
              until - performance.now(),
            );
          // A closed one is not awaited: it may linger.
          socket?.destroy();
        }
      }),
    );
  },
  'nine thousand beginnings of a message': flood(9000, () => fragments(60_000, 20_000)),
  'conversations of 5 MB': (address, sockets) => inTurns(36, () => converse(address, sockets, [long(5 * MB)])),
  'handshakes that never end': flood(5000, () => [], { isWhole: false }),
  'requests that wait for a silent proxy': flood(20, () =>
    times(32).map((index) => create({ model: 'silent', stream_id: `s${index % 8}`, input: long(300_000) })),
  ),
  'messages of 990 fields that wait': flood(120, () => [
    create({ model: 'silent', input: 'Hi' }),
    ...times(16).map(() => create({ model: 'keeps', ...Object.fromEntries(times(990).map((at) => [`f${at}`, at])) })),
  ]),
  'messages of 200 kB that wait': flood(
    900,
    () => times(2).map(() => create({ model: 'silent', input: long(200_000) })),
    { perSecond: 100 },
  ),
  'refused messages that wait, between turns of another lane': flood(200, () => [
    create({ model: 'silent', input: 'Hi' }),
    ...times(200).flatMap((at) => [
      ...times(100).map(() => text('{}')),
      create({ model: 'keeps', stream_id: 'b', input: `${at}` }),
    ]),
  ]),
  'answers that nobody reads': flood(30, () => [create({ model: 'endless', input: 'Hi' })], { reads: false }),
  'ids of 9 MB': flood(24, () => [
    create({
      model: 'keeps',
      previous_response_id: 'x'.repeat(4.5 * MB),
      stream_id: 'y'.repeat(4.5 * MB),
      input: 'Hi',
    }),
  ]),
  'conversations that grow': (address, sockets) =>
    inTurns(20, () =>
      converse(
        address,
        sockets,
        times(8).map(() => long(MB)),
      ),
    ),
};
