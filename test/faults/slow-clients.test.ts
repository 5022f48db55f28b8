import { afterEach, beforeEach, expect, test } from 'vitest';
import { residentMiB } from '../support/memory.ts';
import { startTestMesh, type TestMesh } from '../support/mesh.ts';
import { type SlowClients, slowClients } from '../support/slow-clients.ts';
import { delta, done, eventStream, finish } from '../support/upstream.ts';

let mesh: TestMesh;
let clients: SlowClients;
beforeEach(async () => {
  mesh = await startTestMesh();
  clients = slowClients(mesh.url, mesh.upstream);
  mesh.upstream.script('short', () => ({
    headers: eventStream,
    body: [delta({ content: 'Hello' }), finish('stop'), done],
  }));
});
afterEach(async () => {
  clients.close();
  await mesh.close();
});

const resident = () => ({ envoy: residentMiB(mesh.envoy.pid), service: residentMiB(mesh.service.pid) });

test('a client that never reads costs Envoy 2 MiB and the service 1 MiB at most, and stops nobody else', async () => {
  await clients.open(40);
  const few = resident();
  const more = 160;
  await clients.open(more);
  const many = resident();
  const each = { envoy: (many.envoy - few.envoy) / more, service: (many.service - few.service) / more };
  console.log('MiB for a client that never reads:', each, 'resident with 40', few, 'with 200', many);
  expect(each.envoy).toBeLessThan(2);
  expect(each.service).toBeLessThan(1);

  const response = await mesh.client.responses.stream({ model: 'short', input: 'Hi' }).finalResponse();
  expect(response.output_text).toBe('Hello');
  clients.close();
  await expect.poll(() => mesh.service.metric('responses_extproc_active_exchanges'), { timeout: 20_000 }).toBe(0);
});
