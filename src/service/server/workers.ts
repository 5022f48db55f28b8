import type { Cluster, Worker } from 'node:cluster';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { MetricObject } from 'prom-client';

/**
 * Several processes behind one listener (`WORKERS=N`): a supervisor that forks them, restarts one that exits, forwards
 * signals and collects their metrics. A worker is the whole service; it knows the supervisor only through
 * `joinSupervisor`.
 */

const workerNumberVariable = 'RESPONSES_EXTPROC_WORKER';
const scrapeTimeoutMs = 2_000;
const firstRestartDelayMs = 100;
const maxRestartDelayMs = 10_000;
/** A worker that ran this long was not broken from the start: it is restarted without the longer delay. */
const steadyAfterMs = 30_000;
const aliveIntervalMs = 1_000;
/** A worker that has been silent for this long is stuck: its event loop is blocked, or it is stopped. */
const stuckAfterMs = 5_000;

type WorkerMessage =
  | { readonly type: 'ready'; readonly ready: boolean }
  | { readonly type: 'alive' }
  | { readonly type: 'metrics'; readonly metrics: MetricObject[] };
/** The supervisor's only message. */
const collectMetrics = 'collect_metrics';

/** Forks `count` workers that run the program of this process again. Call it in the primary process only. */
export function superviseWorkers(
  count: number,
  onWorkerExit: (worker: { number: number; pid: number | undefined; how: string; restartInMs: number }) => void,
) {
  // It imports child_process and dgram, which a single process starts without.
  const cluster = process.getBuiltinModule('node:cluster') as unknown as Cluster; // typed as an ES module, which it is not
  const workers = new Map<number, { worker: Worker; ready: boolean; heardAt: number }>();
  const stopping = new AbortController();
  let restarts = 0;
  let everReady = false;
  const { promise: started, resolve: onStarted, reject: onFailed } = Promise.withResolvers<void>();
  started.catch(() => {}); // it may reject before anyone awaits it

  /** Runs a worker of that number until it exits, and says how it did. Rejects where the system refuses the process. */
  function run(number: number): Promise<string> {
    return new Promise((resolve, reject) => {
      // Node throws some of the errors with which the system refuses a process (ENOMEM), and emits the others (EAGAIN).
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
      // An error of one that runs is followed by its exit.
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
      const isSteady = delay === 0 || Date.now() - startedAt > steadyAfterMs;
      delay = isSteady ? firstRestartDelayMs : Math.min(delay * 2, maxRestartDelayMs);
      restarts += 1;
      onWorkerExit({ number, pid, how, restartInMs: delay });
      await sleep(delay, null, { signal: stopping.signal }).catch(() => {});
    }
  }

  for (let number = 1; number <= count; number += 1) void keepRunning(number);

  return {
    /**
     * Resolves when the first worker accepts exchanges. Rejects when one exits before that: its configuration or its port
     * is wrong, and a restart would not help.
     */
    started,
    /** How many workers accept new exchanges now; one that is stuck does not. */
    get readyWorkers() {
      const stuckBefore = performance.now() - stuckAfterMs;
      return [...workers.values()].filter(({ ready, heardAt }) => ready && heardAt > stuckBefore).length;
    },
    get restarts() {
      return restarts;
    },
    /** Each worker's metrics; a worker that does not answer in time is left out. */
    async collectMetrics() {
      const answers = await Promise.all(Array.from(workers.values(), ({ worker }) => metricsOf(worker)));
      return answers.filter((metrics) => metrics !== null);
    },
    /** Forwards the signal and restarts nothing from then on. Resolves when every worker has exited. */
    async stop(signal: NodeJS.Signals) {
      stopping.abort();
      const running = [...workers.values()].map(({ worker }) => worker).filter((worker) => !worker.isDead());
      const ends = running.map((worker) => once(worker, 'exit'));
      // Not `worker.kill`: that first waits for the worker's connections to close, and only the worker decides when.
      for (const worker of running) worker.process.kill(signal);
      await Promise.all(ends);
    },
  };
}

/** The worker's metrics; null if it does not answer in time. */
function metricsOf(worker: Worker): Promise<MetricObject[] | null> {
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
    // One that is exiting is handled elsewhere.
    worker.send(collectMetrics, (error) => error !== null && finish(null));
  });
}

/** In a worker: its number. In any other process: null. */
export function workerNumber(): number | null {
  const number = process.env[workerNumberVariable];
  return number === undefined || process.send === undefined ? null : Number(number);
}

/** In a worker: its handle. In any other process: null. `collect` returns this process's metrics for the supervisor. */
export function joinSupervisor(collect: () => Promise<MetricObject[]>) {
  const number = workerNumber();
  if (number === null) return null;
  // A message, ours or Node's own, for a supervisor that is gone: Node ends a disconnected worker anyway. Node repeats
  // the process's errors on its worker object, where an unhandled one is thrown.
  process.on('error', () => {});
  (process.getBuiltinModule('node:cluster') as unknown as Cluster).worker?.on('error', () => {});
  const send = (message: WorkerMessage) => void process.send?.(message);
  setInterval(send, aliveIntervalMs, { type: 'alive' } satisfies WorkerMessage).unref();
  process.on('message', (message) => {
    if (message === collectMetrics) void collect().then((metrics) => send({ type: 'metrics', metrics }));
  });
  return {
    /** From 1 to `WORKERS`; a restarted worker keeps the number of the one it replaces. */
    number,
    /** Tells the supervisor whether this worker accepts new exchanges. */
    setReady: (ready: boolean) => send({ type: 'ready', ready }),
  };
}
