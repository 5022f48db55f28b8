import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { connect as connectTcp } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { connectExtProc, type ExtProcClient } from '../support/extproc-client.ts';
import { beginStream, endStream, sendRequest } from '../support/scripted-exchange.ts';
import { type ServiceProcess, startServiceProcess, withDescriptors } from '../support/service-process.ts';

const streamed = JSON.stringify({ model: 'm-1', input: 'Hi', stream: true });
const active = 'responses_extproc_active_exchanges';

let service: ServiceProcess | undefined;
const clients: ExtProcClient[] = [];

afterEach(async () => {
  for (const client of clients.splice(0)) client.close();
  await service?.remove();
  service = undefined;
});

async function start(environment: Readonly<Record<string, string>>): Promise<ServiceProcess> {
  service = await startServiceProcess({ WORKERS: '2', ...environment });
  return service;
}

/** A client with a connection of its own, as each thread of an Envoy has. */
function connect(address: string): ExtProcClient {
  const client = connectExtProc(address);
  clients.push(client);
  return client;
}

async function openStream(address: string) {
  const { call } = await sendRequest(connect(address), streamed);
  await beginStream(call);
  return call;
}

describe('WORKERS=2', () => {
  /** For what leaves its service as it was: three processes take a second to start. */
  let shared: ServiceProcess;
  beforeAll(async () => {
    shared = await startServiceProcess({ WORKERS: '2' });
  });
  afterAll(() => shared.remove());

  it('gives connections to the workers in turn, and one scrape has the series of both', async () => {
    const { listen, metric } = shared;
    const [address = ''] = listen;
    for (let n = 0; n < 4; n += 1) await openStream(address);
    expect(await metric(active, { worker: '1' })).toBe(2);
    expect(await metric(active, { worker: '2' })).toBe(2);
    await expect.poll(() => metric('responses_extproc_ready_workers')).toBe(2);
  });

  it('is not ready while every worker is stuck, and is again when one goes on', async () => {
    const { workers, get, metric } = shared;
    const ready = async () => (await get('/readyz')).status;
    await expect.poll(ready).toBe(200);
    const pids = workers();
    for (const pid of pids) process.kill(pid, 'SIGSTOP');
    try {
      await expect.poll(ready).toBe(503);
      expect(await metric('responses_extproc_ready_workers')).toBe(0);
    } finally {
      for (const pid of pids) process.kill(pid, 'SIGCONT');
    }
    await expect.poll(ready).toBe(200);
  });

  it('has the worker’s number in each line of its log', () => {
    const { log } = shared;
    const listening = log.filter((line) => line['msg'] === 'listening');
    expect(listening.map((line) => line['worker']).toSorted()).toEqual([1, 2]);
  });

  it('ends with the reason when no worker can listen', async () => {
    const { listen } = shared;
    await expect(startServiceProcess({ WORKERS: '2', LISTEN: listen[0] ?? '' })).rejects.toThrow(
      // No worker is started again.
      /exit code 1(?![\s\S]*worker exited)[\s\S]*EADDRINUSE/,
    );
  });
});

describe('WORKERS=2, where workers end', () => {
  it('survives a message that finds the other end of its channel gone', async () => {
    // As Node reports it, of a message of its own: the worker that sees it is about to be disconnected, or is not.
    const script = `import cluster from 'node:cluster';
      if (cluster.isWorker) process.on('newListener', (name) => {
        if (name === 'error') setTimeout(() => {
          process.emit('error', new Error('write EPIPE'));
          console.log('{"msg":"told"}');
        }, 20);
      });`;
    const nodeOptions = ['--import', `data:text/javascript,${encodeURIComponent(script)}`];
    service = await startServiceProcess({ WORKERS: '2' }, { nodeOptions });
    const { log } = service;
    await expect.poll(() => log.filter(({ msg }) => msg === 'told').length).toBeGreaterThanOrEqual(2);
    const { metric } = service;
    await expect.poll(() => metric('responses_extproc_ready_workers')).toBe(2);
    expect(await metric('responses_extproc_worker_restarts_total')).toBe(0);
  });

  it('starts a dead worker again, with counters from 0, while the other’s streams go on', async () => {
    const { listen, metric, workers, logged, get } = await start({});
    const [address = ''] = listen;
    const calls = [await openStream(address), await openStream(address)];
    const [victim = 0] = workers();
    process.kill(victim, 'SIGKILL');
    const died = await logged((line) => line['msg'] === 'worker exited');
    expect(died).toMatchObject({ how: 'SIGKILL', restart_in_ms: 100, pid: victim });

    const ends = await Promise.allSettled(calls.map((call) => endStream(call)));
    expect(ends.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    await expect.poll(async () => (await get('/readyz')).status).toBe(200);
    await expect.poll(() => metric('responses_extproc_ready_workers')).toBe(2);
    expect(await metric('responses_extproc_worker_restarts_total')).toBe(1);
    const dead = String(died['worker']);
    expect(await metric('responses_extproc_exchanges_total', { worker: dead })).toBe(0);

    // Connections are taken in turn: with two more, one is the new worker's.
    for (let n = 0; n < 2; n += 1) {
      const call = await openStream(address);
      await endStream(call);
      call.cancel();
    }
    await expect
      .poll(() => metric('responses_extproc_exchanges_total', { worker: dead, outcome: 'completed' }))
      .toBe(1);
  });

  it('starts a dead worker once the system lets it, while the other’s streams go on', async () => {
    const most = 64;
    service = await startServiceProcess({ WORKERS: '2' }, { wrap: withDescriptors(most) });
    const { child, listen, logged, metric, workers } = service;
    const [address = ''] = listen;
    const calls = [await openStream(address), await openStream(address)];
    const { admin } = await logged((line) => typeof line['admin'] === 'string');
    const [host = '', port = ''] = String(admin).split(':');
    const all = Array.from({ length: most }, () => connectTcp(Number(port), host).on('error', () => {}));
    await expect.poll(() => readdirSync(`/proc/${child.pid}/fd`).length).toBeGreaterThanOrEqual(most - 1);
    process.kill(workers()[0] ?? 0, 'SIGKILL');
    await logged(({ msg, how }) => msg === 'worker exited' && String(how).includes('EMFILE'));
    for (const socket of all) socket.destroy();
    const ends = await Promise.allSettled(calls.map((call) => endStream(call)));
    expect(ends.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    await expect.poll(() => metric('responses_extproc_ready_workers')).toBe(2);
  });

  it('starts a dead worker once it can, where starting one fails at once', async () => {
    // A variable that is longer than Linux takes: the system refuses the process with an error that Node throws.
    const script = `import cluster from 'node:cluster';
      cluster.once('exit', () => { process.env.TOO_LONG = 'x'.repeat(2 ** 17); });
      if (cluster.isPrimary) process.once('SIGUSR2', () => { delete process.env.TOO_LONG; });`;
    const nodeOptions = ['--import', `data:text/javascript,${encodeURIComponent(script)}`];
    service = await startServiceProcess({ WORKERS: '2' }, { nodeOptions });
    const { child, listen, logged, metric, workers } = service;
    const [address = ''] = listen;
    const calls = [await openStream(address), await openStream(address)];
    process.kill(workers()[0] ?? 0, 'SIGKILL');
    const refused = await logged(({ msg, how }) => msg === 'worker exited' && String(how).includes('E2BIG'));
    expect(refused).toMatchObject({ restart_in_ms: 200 });
    child.kill('SIGUSR2');
    const ends = await Promise.allSettled(calls.map((call) => endStream(call)));
    expect(ends.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    await expect.poll(() => metric('responses_extproc_ready_workers')).toBe(2);
  });

  it('lets running streams of every worker end after SIGTERM, even if each process is told', async () => {
    const { listen, child, workers, log } = await start({});
    const [address = ''] = listen;
    const calls = [await openStream(address), await openStream(address)];
    for (const pid of workers()) process.kill(pid, 'SIGTERM');
    child.kill('SIGTERM');
    await expect.poll(() => log.filter(({ msg }) => msg === 'draining').length).toBe(2);
    for (const call of calls) await endStream(call);
    for (const call of calls) call.cancel();
    expect(await child.ended).toBe('exit code 0');
  });
});

describe('a service without workers', () => {
  it('drains at Ctrl-C, and ends at the second one', async () => {
    const { child, listen, logged } = await start({ WORKERS: '1' });
    await openStream(listen[0] ?? '');
    child.kill('SIGINT');
    await logged(({ msg }) => msg === 'draining');
    child.kill('SIGINT');
    expect(await child.ended).toBe('exit code 1');
  });
});

describe('one UNIX socket for all workers', () => {
  it('is theirs together, also after one was started again, and is made anew where a killed process left it', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'extproc-sockets-'));
    const address = `unix:${folder}/all.sock`;
    try {
      const ofWebSockets = { WEBSOCKET_LISTEN: `unix:${folder}/ws.sock`, WEBSOCKET_FORWARD_TO: 'http://127.0.0.1:1' };
      const killed = await startServiceProcess({ LISTEN: address, ...ofWebSockets });
      await killed.remove();
      for (const name of ['all.sock', 'ws.sock']) expect(statSync(join(folder, name)).isSocket(), name).toBe(true);

      const { metric, workers, logged } = await start({ LISTEN: address, ...ofWebSockets });
      for (let n = 0; n < 4; n += 1) await openStream(address);
      expect(await metric(active, { worker: '1' })).toBe(2);
      expect(await metric(active, { worker: '2' })).toBe(2);

      process.kill(workers()[0] ?? 0, 'SIGKILL');
      await logged((line) => line['msg'] === 'worker exited');
      await expect.poll(() => metric('responses_extproc_ready_workers')).toBe(2);
      await endStream(await openStream(address));
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('is not taken from a service that listens on it', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'extproc-sockets-'));
    const address = `unix:${folder}/all.sock`;
    try {
      await start({ LISTEN: address });
      await expect(startServiceProcess({ LISTEN: address })).rejects.toThrow('EADDRINUSE');
      await endStream(await openStream(address));
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

describe('an address for each worker', () => {
  it('is LISTEN with {worker} replaced: here UNIX sockets', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'extproc-sockets-'));
    try {
      const { listen, metric } = await start({ LISTEN: `unix:${folder}/{worker}.sock` });
      expect([...listen].sort()).toEqual([`unix:${folder}/1.sock`, `unix:${folder}/2.sock`]);
      expect(statSync(`${folder}/1.sock`).isSocket()).toBe(true);
      await openStream(`unix:${folder}/2.sock`);
      expect(await metric(active, { worker: '1' })).toBe(0);
      expect(await metric(active, { worker: '2' })).toBe(1);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
