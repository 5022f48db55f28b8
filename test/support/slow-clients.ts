import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { type BodyStep, delta, eventStream, type ScriptedUpstream } from './upstream.ts';

/** Clients that request a stream and never read it. */
export interface SlowClients {
  /** Connects more of them; resolves when nothing moves any more. */
  open(count: number): Promise<void>;
  /** Disconnects them. */
  close(): void;
}

/** Scripts an endless stream on the upstream, `endless`, which the clients will request at this URL. */
export function slowClients(url: string, upstream: ScriptedUpstream): SlowClients {
  const sockets: Socket[] = [];
  let sent = 0;
  /** Small events, about 64 KiB at a time, for as long as they are read. */
  function* endless(): Generator<BodyStep> {
    const burst = Buffer.from(delta({ content: 'x' }).repeat(460));
    for (;;) {
      sent += burst.length;
      yield burst;
    }
  }
  upstream.script('endless', () => ({ headers: eventStream, body: endless() }));
  const { hostname, port } = new URL(url);
  const body = JSON.stringify({ model: 'endless', input: 'Hi', stream: true });
  const head = `POST /v1/responses HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`;
  return {
    async open(count) {
      for (let opened = 0; opened < count; opened += 1) {
        const socket = connect(Number(port), hostname).on('error', () => {});
        socket.pause();
        socket.write(head + body);
        sockets.push(socket);
      }
      await sleep(2000);
      for (let before = -1; before !== sent; await sleep(2000)) before = sent;
    },
    close() {
      for (const socket of sockets.splice(0)) socket.destroy();
    },
  };
}
