import { createServer } from 'node:net';
import { networkInterfaces } from 'node:os';
import { expect, test } from 'vitest';
import {
  findFreePort,
  findNextFreePort,
  isListening,
  isPortFree,
  leadsToFreePort,
  waitUntilListening,
} from '../../../mesh/ports.ts';

test('a port is given once, though nobody listens there yet', async () => {
  const first = await findFreePort();
  expect(await isPortFree(first)).toBe(true);
  expect(await findNextFreePort(first)).toBeGreaterThan(first);
});

test('a port where somebody listens is not given', async () => {
  const port = await findFreePort();
  const server = createServer().listen(port, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  expect(await findNextFreePort(port)).toBeGreaterThan(port);
  server.close();
});

test('a port is none that the system may give to a connection at any time', async () => {
  const ports = await Promise.all(Array.from({ length: 50 }, findFreePort));
  expect(new Set(ports).size).toBe(50);
  expect(Math.max(...ports)).toBeLessThan(32_768);
});

test('of a hundred ports each is given once, and then it says which are taken', async () => {
  const first = await findFreePort();
  const given: number[] = [];
  const giving = async () => {
    for (;;) given.push(await findNextFreePort(first));
  };
  await expect(giving()).rejects.toThrow(
    new Error(`No free port between ${first} and ${first + 99}; give one with --port.`),
  );
  expect(given).toEqual([...new Set(given)].toSorted((one, other) => one - other));
  expect(given.at(0)).toBeGreaterThan(first);
  expect(given.at(-1)).toBeLessThan(first + 100);
});

test('a listener is waited for, and its connection is closed at once', async () => {
  const port = await findFreePort();
  const stop = new AbortController();
  const late = waitUntilListening(port, stop.signal);
  expect(await isListening({ host: '127.0.0.1', port })).toBe(false);
  const server = createServer((socket) => socket.on('error', () => {})).listen(port, '127.0.0.1');
  await late;
  expect(await isListening({ host: '127.0.0.1', port })).toBe(true);
  await waitUntilListening(port, stop.signal, 'localhost');
  await new Promise((closed) => server.close(closed)); // only once nobody is connected
  const never = waitUntilListening(port, stop.signal);
  stop.abort();
  await expect(never).rejects.toThrow('aborted');
});

test('a URL without a port leads to that of its scheme', async () => {
  expect(await leadsToFreePort(new URL('http://127.0.0.1/v1'), 443)).toBe(false);
  expect(await leadsToFreePort(new URL('https://127.0.0.1/v1'), 80)).toBe(false);
});

const here = Object.values(networkInterfaces()).flatMap((addresses = []) =>
  addresses
    .filter(({ scopeid = 0 }) => scopeid === 0)
    .map(({ address }) => (address.includes(':') ? `[${address}]` : address)),
);

test.each([
  ...new Set(['localhost', 'LOCALHOST', '127.0.0.1', '127.1', '0x7f000001', '0.0.0.0', '[::ffff:127.0.0.1]', ...here]),
])('%s is this machine: its port leads there, unless somebody listens', async (host) => {
  const port = await findFreePort();
  const url = new URL(`http://${host}:${port}/v1`);
  expect(await leadsToFreePort(url, port)).toBe(true);
  expect(await leadsToFreePort(url, port + 1)).toBe(false);
  const server = createServer().listen(port);
  await new Promise((resolve) => server.once('listening', resolve));
  expect(await leadsToFreePort(url, port)).toBe(false);
  server.close();
});

test.each(['192.0.2.1', '[2001:db8::1]', 'no-such-host.invalid'])('%s is not this machine', async (host) => {
  const port = await findFreePort();
  expect(await leadsToFreePort(new URL(`http://${host}:${port}/v1`), port)).toBe(false);
});
