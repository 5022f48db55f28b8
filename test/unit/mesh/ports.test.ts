import { createServer } from 'node:net';
import { expect, test } from 'vitest';
import { anyFreePort, nextFreePort, portIsFree } from '../../../tools/mesh/ports.ts';

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
