import type { Cluster, Worker } from 'node:cluster';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { MetricObject } from 'prom-client';

/**
 * Several processes behind one listener (`WORKERS=N`). The supervisor forks the workers, restarts a worker that exits, forwards signals
 * and collects metrics. A worker is the whole service, and knows the supervisor only through `joinSupervisor`.
 */

const workerNumberVariable = 'RESPONSES_EXTPROC_WORKER';
const scrapeTimeoutMs = 2_000;
const firstRestartDelayMs = 100;
const maxRestartDelayMs = 10_000;
/** A worker that ran this long was not broken from the start: it is restarted with the first delay. */
const steadyAfterMs = 30_000;
const aliveIntervalMs = 1_000;
/** A worker that has sent nothing for this long is stuck: its event loop is blocked, or the process is stopped. */
const stuckAfterMs = 5_000;

type WorkerMessage =
  | { readonly type: 'ready'; readonly ready: boolean }
  | { readonly type: 'alive' }
  | { readonly type: 'metrics'; readonly metrics: MetricObject[] };
const collectMetrics = 'collect_metrics';

/** Milliseconds until a worker that ran so long is started again; `before`: what it had waited, 0 for the first start. */
export function restartDelay(before: number, ranMs: number): number {
  const isSteady = before === 0 || ranMs > steadyAfterMs;
  return isSteady ? firstRestartDelayMs : Math.min(before * 2, maxRestartDelayMs);
}

/** Forks `count` workers, which run the program of this process again. */
export function superviseWorkers(
  count: number,
  onWorkerExit: (worker: { number: number; pid: number | undefined; how: string; restartInMs: number }) => void,
) {
  // Loaded here, because it imports child_process and dgram, which a single process starts without.
  const cluster = process.getBuiltinModule('node:cluster') as unknown as Cluster; // typed as an ES module, which it is not
  const workers = new Map<number, { worker: Worker; ready: boolean; heardAt: number }>();
  const stopping = new AbortController();
  let restarts = 0;
  let everReady = false;
  const { promise: started, resolve: onStarted, reject: onFailed } = Promise.withResolvers<void>();
  started.catch(() => {}); // `started` may reject before anyone awaits it

  /** Runs a worker until it exits, and resolves to its signal or code. Rejects if the system refuses the process. */
  function run(number: number): Promise<string> {
    return new Promise((resolve, reject) => {
      // If the system refuses the process, Node throws some errors (ENOMEM), and emits others (EAGAIN).
      const worker = cluster.fork({ [workerNumberVariable]: String(number) });
      const state = { worker, ready: false, heardAt: performance.now() };
      workers.set(number, state);
      worker.on('message', (message: WorkerMessage) => {
        state.heardAt = performance.now();
        if (message.type !== 'ready') return;
        state.ready = message.ready;
        if (!message.ready) return;
        everReady = true;
        onStarted();
      });
      worker.once('exit', (code, signal) => resolve(signal ?? `code ${code}`));
      // The error of a running worker is followed by its exit.
      worker.on('error', (error: Error) => worker.process.pid === undefined && reject(error));
    });
  }

  async function keepRunning(number: number): Promise<void> {
    let delay = 0;
    while (!stopping.signal.aborted) {
      const startedAt = Date.now();
      const how = await run(number).catch(({ message }: Error) => message);
      const pid = workers.get(number)?.worker.process.pid;
      workers.delete(number);
      if (stopping.signal.aborted) return;
      if (!everReady) {
        onFailed(new Error(`worker ${number} exited during start-up (${how})`));
        return;
      }
      delay = restartDelay(delay, Date.now() - startedAt);
      restarts += 1;
      onWorkerExit({ number, pid, how, restartInMs: delay });
      await sleep(delay, null, { signal: stopping.signal }).catch(() => {});
    }
  }

  for (let number = 1; number <= count; number += 1) void keepRunning(number);

  return {
    /** Resolves when the first worker is ready. Rejects if one exits before that, since its configuration or port is wrong. */
    started,
    /** The number of workers that accept new exchanges. A stuck worker does not. */
    get readyWorkers() {
      const stuckBefore = performance.now() - stuckAfterMs;
      return [...workers.values()].filter(({ ready, heardAt }) => ready && heardAt > stuckBefore).length;
    },
    get restarts() {
      return restarts;
    },
    async collectMetrics() {
      const answers = await Promise.all(Array.from(workers.values(), ({ worker }) => readMetrics(worker)));
      return answers.filter((metrics) => metrics !== null);
    },
    /** Forwards the signal, and restarts no worker any more. Resolves when every worker has exited. */
    async stop(signal: NodeJS.Signals) {
      stopping.abort();
      const running = [...workers.values()].map(({ worker }) => worker).filter((worker) => !worker.isDead());
      const ends = running.map((worker) => once(worker, 'exit'));
      // `worker.kill` would first wait for the worker's connections to close, which only the worker decides.
      for (const worker of running) worker.process.kill(signal);
      await Promise.all(ends);
    },
  };
}

/** Asks a worker for its metrics; null if it does not answer in time. */
function readMetrics(worker: Worker): Promise<MetricObject[] | null> {
  return new Promise((resolve) => {
    const finish = (metrics: MetricObject[] | null) => {
      clearTimeout(timer);
      worker.off('message', onMessage);
      resolve(metrics);
    };
    const onMessage = (message: WorkerMessage) => {
      if (message.type === 'metrics') finish(message.metrics);
    };
    const timer = setTimeout(finish, scrapeTimeoutMs, null);
    worker.on('message', onMessage);
    worker.send(collectMetrics, (error) => error !== null && finish(null));
  });
}

/** Returns the number of this worker, from 1 to `WORKERS`; null in any other process. */
export function workerNumber(): number | null {
  const number = process.env[workerNumberVariable];
  return number === undefined || process.send === undefined ? null : Number(number);
}

/** Connects this worker to its supervisor, which asks for its metrics with `collect`. Returns null in any other process. */
export function joinSupervisor(collect: () => Promise<MetricObject[]>) {
  const number = workerNumber();
  if (number === null) return null;
  // Messages to a supervisor that is gone fail, Node's own too; Node ends a disconnected worker anyway. It repeats the errors on its
  // worker object, which throws those that are unhandled.
  process.on('error', () => {});
  (process.getBuiltinModule('node:cluster') as unknown as Cluster).worker?.on('error', () => {});
  const send = (message: WorkerMessage) => void process.send?.(message);
  setInterval(send, aliveIntervalMs, { type: 'alive' } satisfies WorkerMessage).unref();
  process.on('message', (message) => {
    if (message === collectMetrics) void collect().then((metrics) => send({ type: 'metrics', metrics }));
  });
  return {
    /** A restarted worker has the number of the worker that it replaces. */
    number,
    setReady: (ready: boolean) => send({ type: 'ready', ready }),
  };
}
