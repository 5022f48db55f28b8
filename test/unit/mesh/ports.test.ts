import { createServer } from 'node:net';
import { networkInterfaces } from 'node:os';
import { expect, test } from 'vitest';
import { anyFreePort, leadsToFreePort, nextFreePort, portIsFree } from '../../../tools/mesh/ports.ts';

test('a port is given once, though nobody listens there yet', async () => {
  const first = await anyFreePort();
  expect(await portIsFree(first)).toBe(true);
  expect(await nextFreePort(first)).toBeGreaterThan(first);
});

test('a port where somebody listens is not given', async () => {
  const port = await anyFreePort();
  const server = createServer().listen(port, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  expect(await nextFreePort(port)).toBeGreaterThan(port);
  server.close();
});

test('a port is none that the system may give to a connection at any time', async () => {
  const ports = await Promise.all(Array.from({ length: 50 }, anyFreePort));
  expect(new Set(ports).size).toBe(50);
  expect(Math.max(...ports)).toBeLessThan(32_768);
});

const here = Object.values(networkInterfaces()).flatMap((addresses = []) =>
  addresses
    .filter(({ scopeid = 0 }) => scopeid === 0)
    .map(({ address }) => (address.includes(':') ? `[${address}]` : address)),
);

test.each([
  ...new Set(['localhost', 'LOCALHOST', '127.0.0.1', '127.1', '0x7f000001', '0.0.0.0', '[::ffff:127.0.0.1]', ...here]),
])('%s is this machine: its port leads there, unless somebody listens', async (host) => {
  const port = await anyFreePort();
  const url = new URL(`http://${host}:${port}/v1`);
  expect(await leadsToFreePort(url, port)).toBe(true);
  expect(await leadsToFreePort(url, port + 1)).toBe(false);
  const server = createServer().listen(port);
  await new Promise((resolve) => server.once('listening', resolve));
  expect(await leadsToFreePort(url, port)).toBe(false);
  server.close();
});

test.each(['192.0.2.1', '[2001:db8::1]', 'no-such-host.invalid'])('%s is not this machine', async (host) => {
  const port = await anyFreePort();
  expect(await leadsToFreePort(new URL(`http://${host}:${port}/v1`), port)).toBe(false);
});
