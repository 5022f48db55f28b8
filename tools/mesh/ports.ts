import { connect, createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** True when the port is free. */
export function portIsFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => resolve(true)));
  });
}

/** The first free port from `first` on. Throws when a hundred are taken. */
export async function nextFreePort(first: number): Promise<number> {
  for (let port = first; port < first + 100; port += 1) if (await portIsFree(port)) return port;
  throw new Error(`No free port between ${first} and ${first + 99}; give one with --port.`);
}

/** A free port chosen by the system. */
export function anyFreePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen({ port: 0, host: '127.0.0.1' }, () => {
      const address = server.address();
      const port = typeof address === 'object' && address !== null ? address.port : 0;
      server.close(() => resolve(port));
    });
  });
}

/** Resolves when something accepts connections on the port. Rejects when the signal aborts. */
export async function untilListening(port: number, signal: AbortSignal, host = '127.0.0.1'): Promise<void> {
  while (!(await accepts({ host, port }))) await sleep(30, undefined, { signal });
}

/** True when something accepts connections there. */
export function accepts({ host, port }: { host: string; port: number }): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host });
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
