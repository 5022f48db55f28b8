import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest';
import { recordTable } from '../../bench/results.ts';
import type { Cell } from '../../bench/table.ts';
import { connectExtProc, type ExtProcClient } from '../support/extproc-client.ts';
import { imageFlags, imageMalloc } from '../support/image-flags.ts';
import { createMemoryCgroup, type MemoryCgroup } from '../support/memory-cgroup.ts';
import { beginStream, endStream, sendRequest } from '../support/scripted-exchange.ts';
import { type ServiceProcess, startServiceProcess } from '../support/service-process.ts';
import { openWebSocket } from '../support/websocket-client.ts';
import type { AttackOfWorker } from './attack-worker.ts';
import { everyAttack } from './every-attack.ts';

const MiB = 1024 * 1024;
/** The turns of WebSockets are answered here, in a thread of its own. */
const turnServer = new Worker(new URL('./turn-server.ts', import.meta.url));
const [turnsUrl] = (await once(turnServer, 'message')) as [string];
afterAll(() => void turnServer.terminate());

/** Resolves with the number of calls that are open once all is sent. Terminating the worker closes them. */
function sentBy(worker: Worker): Promise<number> {
  return new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject));
}

const webSocketOf = (service: ServiceProcess) =>
  String(service.log.find(({ msg }) => msg === 'listening')?.['websocket']);

const small = JSON.stringify({ model: 'm-1', input: 'Hi', stream: true });

/** The rows of docs/operating.md, "Sizing": MiB of the container and of the heap. The chart's default is among them. */
const rows = sizingRows();

function sizingRows(): [number, number][] {
  const text = readFileSync(new URL('../../docs/operating.md', import.meta.url), 'utf8');
  return [...text.matchAll(/^\| (\d+) (MiB|GiB) \| `--max-old-space-size=(\d+)`/gm)].map(([, size, unit, heap]) => [
    Number(size) * (unit === 'GiB' ? 1024 : 1),
    Number(heap),
  ]);
}

/** Resident memory: all of it, and without the heap of the C library, which keeps free pieces that lie between used ones. */
interface Resident {
  readonly all: number;
  readonly own: number;
}

function residentMiB(pid: number): Resident {
  const library = /\[heap\]\n(?:\w+:.*\n)*?Rss: +(\d+) kB/.exec(readFileSync(`/proc/${pid}/smaps`, 'utf8'))?.[1];
  if (library === undefined) throw new Error('The kernel does not say what the heap of the C library takes.');
  const all = allResidentMiB(pid);
  return { all, own: all - Math.round(Number(library) / 1024) };
}

/** Cheap, and without a lock on what the process maps. */
function allResidentMiB(pid: number): number {
  const pages = Number(readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1]);
  return Math.round((pages * 4096) / MiB);
}

/** MiB above the idle size that may stay of the service's own, 30 s later. */
const mostKept = 32;
/** Half a second in which what is new is refused, and two collections of a full heap: V8's own, and the one for which calls are failed. */
const mostOthersCpuMs = 1500;

/** CPU time in ms: how long others wait for a busy process depends on the machine, how much it does meanwhile does not. */
function cpuMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ');
  return 10 * (Number(fields[11]) + Number(fields[12]));
}

/** `RECORD=on npm test -- sizing`: the table of docs/operating.md is that of this run, after `npm run generate`. */
const recorded: Cell[][] = [];
afterAll(() => {
  if (process.env['RECORD'] !== 'on') return;
  recordTable('attacks', {
    date: new Date().toISOString().slice(0, 10),
    machine: `${cpus()[0]?.model.trim()}, ${cpus().length} cores; Node ${process.version}`,
    headings: [
      'MiB',
      'heap',
      'attack',
      'end',
      'idle MiB',
      'highest MiB',
      'MiB after',
      'own MiB more',
      'others’ CPU ms',
    ],
    rows: recorded,
  });
});

describe.each(rows)('a container of %i MiB with %i MB of heap and the image’s flags', (container, heap) => {
  let cgroup: MemoryCgroup;
  let service: ServiceProcess;
  let client: ExtProcClient;
  beforeEach(async () => {
    cgroup = createMemoryCgroup(container * MiB);
    const environment = {
      ...imageMalloc,
      NODE_DISABLE_COMPILE_CACHE: '1',
      WEBSOCKET_LISTEN: '127.0.0.1:0',
      WEBSOCKET_FORWARD_TO: turnsUrl,
    };
    const nodeOptions = [...imageFlags, `--max-old-space-size=${heap}`];
    service = await startServiceProcess(environment, { nodeOptions, wrap: cgroup.run });
    client = connectExtProc(service.listen[0] ?? '');
  });
  afterEach(async () => {
    client.close();
    await service.remove();
    cgroup.remove();
  });

  /** A whole exchange of somebody else: the milliseconds of the service's own CPU time until it is served. */
  async function served(): Promise<number> {
    const startedAt = cpuMs(service.child.pid);
    for (;;) {
      const { call, last } = await sendRequest(client, small);
      if (last.immediate_response === undefined) {
        await beginStream(call);
        await endStream(call);
        call.cancel();
        return cpuMs(service.child.pid) - startedAt;
      }
      call.cancel();
      await sleep(50);
    }
  }

  /** The same over a WebSocket of somebody else's. */
  async function servedTurn(): Promise<number> {
    const startedAt = cpuMs(service.child.pid);
    let isOver = false;
    void service.child.ended.then(() => {
      isOver = true;
    });
    while (!isOver) {
      const other = await openWebSocket(`http://${webSocketOf(service)}/v1/responses`).catch(() => null);
      const last = await other?.turn({ model: 'keeps', input: 'Hi' }).then(
        (messages) => messages.at(-1),
        () => undefined,
      );
      other?.socket.terminate();
      if (last?.type === 'response.completed') return cpuMs(service.child.pid) - startedAt;
      await sleep(50);
    }
    throw new Error('The service has ended.');
  }

  test.each(everyAttack)('%s: it lives, serves others, and is small again', async (title, listener) => {
    const name = title.replace(/^WebSocket: /, '');
    for (let warm = 0; warm < 20; warm += 1) {
      await served();
      await servedTurn();
    }
    // The first refusal loads what refusals need.
    (await sendRequest(client, '{')).call.cancel();
    await sleep(2000);
    const idle = residentMiB(service.child.pid);
    let ended: string | null = null;
    void service.child.ended.then((how) => {
      ended = how;
    });
    // A thread of its own: in this one, others would wait for what the attack sends, and not for the service.
    const address = listener === 'calls' ? (service.listen[0] ?? '') : webSocketOf(service);
    const workerData: AttackOfWorker = { name, address };
    const attacker = new Worker(new URL('./attack-worker.ts', import.meta.url), { workerData });
    const sizes: number[] = [];
    const timer = setInterval(() => ended === null && sizes.push(allResidentMiB(service.child.pid)), 250);
    let longest = 0;
    let over = false;
    const sent = sentBy(attacker).finally(() => {
      over = true;
    });
    while (!over && ended === null) {
      longest = Math.max(longest, await served().catch(() => 0));
      longest = Math.max(longest, await servedTurn().catch(() => 0));
      await sleep(100);
    }
    const open = ended === null ? await sent : 0;
    await sleep(1000);
    const held = ended === null ? await service.metric('responses_extproc_buffered_bytes') : 0;
    await attacker.terminate();
    const startedAt = performance.now();
    const isIdleSize = () => allResidentMiB(service.child.pid) <= idle.all + 8;
    while (ended === null && !isIdleSize() && performance.now() - startedAt < 30_000) await sleep(500);
    clearInterval(timer);
    const after = ended === null ? residentMiB(service.child.pid) : idle;
    const highest = Math.max(...sizes);
    recorded.push([
      container,
      heap,
      title,
      ended ?? 'lives',
      idle.all,
      highest,
      after.all,
      after.own - idle.own,
      longest,
    ]);
    const resident = sizes.filter((_, at) => at % 4 === 0);
    console.log(
      `${container}/${heap} ${title}: ${ended ?? 'lives'}; MiB idle ${idle.all}, highest ${highest}, after ${after.all}, own ${idle.own} and ${after.own} (${Math.round((performance.now() - startedAt) / 1000)} s); ${open} open, ${Math.round(held / MiB)} MiB counted; others within ${Math.round(longest)} ms of CPU; [${resident}]`,
    );
    expect(ended).toBeNull();
    expect(longest).toBeLessThan(mostOthersCpuMs);
    expect(after.own).toBeLessThanOrEqual(idle.own + mostKept);
    await served();
    await servedTurn();
    expect(await service.metric('responses_extproc_active_exchanges')).toBe(0);
  });
});
