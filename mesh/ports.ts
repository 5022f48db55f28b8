import { randomInt } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { lookup } from 'node:dns/promises';
import { connect, createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

export function isPortFree(port: number): Promise<boolean> {
  return canListen('127.0.0.1', port);
}

/**
 * Whether the URL leads, by whatever name, to that port of this machine, and nothing listens there yet. False for an
 * unknown name.
 */
export async function leadsToFreePort(url: URL, port: number): Promise<boolean> {
  if ((Number(url.port) || (url.protocol === 'https:' ? 443 : 80)) !== port) return false;
  const found = await lookup(url.hostname.replace(/^\[|\]$/g, ''), { all: true }).catch(() => []);
  // Nothing can listen on an address of another machine.
  const own = await Promise.all(found.map(({ address }) => canListen(address, port)));
  return own.includes(true);
}

function canListen(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host, exclusive: true }, () => server.close(() => resolve(true)));
  });
}

/** Claims the first free port from `first` on. It throws if a hundred ports in a row are taken. */
export async function findNextFreePort(first: number): Promise<number> {
  for (let port = first; port < first + 100; port += 1) if (await claimPort(port)) return port;
  throw new Error(`No free port between ${first} and ${first + 99}; give one with --port.`);
}

/** Claims a free port below those that the system gives to connections, any of which could take it at any time. */
export async function findFreePort(): Promise<number> {
  for (;;) {
    const port = randomInt(20_000, 32_768);
    if (await claimPort(port)) return port;
  }
}

/**
 * Claims a free port for this process, so that no other process is given it before something listens there. The claim is the
 * UDP port of the same number, which nothing else uses; it is held as long as this process runs.
 */
function claimPort(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const claim = createSocket('udp4');
    claim.once('error', () => resolve(false));
    claim.bind({ port, address: '127.0.0.1', exclusive: true }, async () => {
      claim.unref();
      const isFree = await isPortFree(port);
      if (!isFree) claim.close();
      resolve(isFree);
    });
  });
}

export async function waitUntilListening(port: number, signal: AbortSignal, host = '127.0.0.1'): Promise<void> {
  while (!(await isListening({ host, port }))) await sleep(30, undefined, { signal });
}

export function isListening({ host, port }: { host: string; port: number }): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host });
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
