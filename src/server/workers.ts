import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import type { MetricObject } from 'prom-client';

/**
 * Several processes behind one listener (`WORKERS=N`): a supervisor that forks them, starts a dead one again, passes
 * signals on and gathers their metrics. A worker is the whole service; it knows the supervisor only through
 * `joinSupervisor`.
 */

const WORKER_NUMBER = 'RESPONSES_EXTPROC_WORKER';
const SCRAPE_TIMEOUT_MS = 2_000;
const FIRST_RESTART_DELAY_MS = 100;
const LONGEST_RESTART_DELAY_MS = 10_000;
/** A worker that lived this long was not broken from the start: the next restart is quick again. */
const STEADY_AFTER_MS = 30_000;

type WorkerMessage =
  | { readonly type: 'ready'; readonly ready: boolean }
  | { readonly type: 'metrics'; readonly id: number; readonly metrics: MetricObject[] };
type SupervisorMessage = { readonly type: 'collect_metrics'; readonly id: number };

export interface SupervisorObserver {
  died(worker: { number: number; pid: number | undefined; how: string; restartInMs: number }): void;
}

export interface Supervisor {
  /** Workers that take new exchanges now. */
  readonly readyWorkers: number;
  readonly restarts: number;
  /** Each worker's metrics; one that does not answer in time is left out. */
  collectMetrics(): Promise<MetricObject[][]>;
  /** Passes the signal on and starts nothing anew. Resolves when every worker has ended. */
  stop(signal: NodeJS.Signals): Promise<void>;
  /**
   * Resolves when a worker takes exchanges. Rejects when one ends before any ever did: its configuration or its port is
   * wrong, and trying again helps nobody.
   */
  readonly started: Promise<void>;
}

/** Forks `count` workers that run the program of this process again. Call it in the primary process only. */
export function superviseWorkers(count: number, observer: SupervisorObserver): Supervisor {
  const workers = new Map<number, { worker: Worker; ready: boolean; startedAt: number }>();
  const collections = new Map<number, (worker: Worker, metrics: MetricObject[]) => void>();
  const delays = new Map<number, number>();
  const restartTimers = new Set<NodeJS.Timeout>();
  let restarts = 0;
  let collection = 0;
  let stopping = false;
  let everReady = false;
  let settle: { resolve(): void; reject(error: Error): void } | undefined;
  const started = new Promise<void>((resolve, reject) => {
    settle = { resolve, reject };
  });
  started.catch(() => {}); // it may fail before anyone awaits it

  function start(number: number): void {
    const worker = cluster.fork({ [WORKER_NUMBER]: String(number) });
    const state = { worker, ready: false, startedAt: Date.now() };
    workers.set(number, state);
    worker.on('message', (message: WorkerMessage) => {
      if (message.type === 'ready') {
        state.ready = message.ready;
        if (message.ready) {
          everReady = true;
          settle?.resolve();
        }
      } else collections.get(message.id)?.(worker, message.metrics);
    });
    worker.once('exit', (code, signal) => ended(number, state.startedAt, signal ?? `code ${code}`));
  }

  function ended(number: number, startedAt: number, how: string): void {
    const pid = workers.get(number)?.worker.process.pid;
    workers.delete(number);
    if (stopping) return;
    if (!everReady) {
      settle?.reject(new Error(`worker ${number} ended at its start (${how})`));
      return;
    }
    const last = Date.now() - startedAt > STEADY_AFTER_MS ? undefined : delays.get(number);
    const delay = last === undefined ? FIRST_RESTART_DELAY_MS : Math.min(last * 2, LONGEST_RESTART_DELAY_MS);
    delays.set(number, delay);
    restarts += 1;
    observer.died({ number, pid, how, restartInMs: delay });
    const timer = setTimeout(() => {
      restartTimers.delete(timer);
      start(number);
    }, delay);
    restartTimers.add(timer);
  }

  for (let number = 1; number <= count; number += 1) start(number);

  return {
    started,
    get readyWorkers() {
      return [...workers.values()].filter(({ ready }) => ready).length;
    },
    get restarts() {
      return restarts;
    },
    collectMetrics() {
      const asked = new Set([...workers.values()].map(({ worker }) => worker).filter((worker) => worker.isConnected()));
      const id = collection++;
      return new Promise((resolve) => {
        const answers: MetricObject[][] = [];
        const finish = () => {
          clearTimeout(timer);
          collections.delete(id);
          resolve(answers);
        };
        const timer = setTimeout(finish, SCRAPE_TIMEOUT_MS);
        collections.set(id, (worker, metrics) => {
          answers.push(metrics);
          asked.delete(worker);
          if (asked.size === 0) finish();
        });
        for (const worker of asked)
          worker.send({ type: 'collect_metrics', id } satisfies SupervisorMessage, (error) => {
            if (error !== null) asked.delete(worker); // it is dying; its exit is handled elsewhere
          });
        if (asked.size === 0) finish();
      });
    },
    async stop(signal) {
      stopping = true;
      for (const timer of restartTimers) clearTimeout(timer);
      const running = [...workers.values()].map(({ worker }) => worker).filter((worker) => !worker.isDead());
      const ends = running.map((worker) => once(worker, 'exit'));
      // Not `worker.kill`: that first waits for the worker's connections to close, and only the worker may say when.
      for (const worker of running) worker.process.kill(signal);
      await Promise.all(ends);
    },
  };
}

export interface WorkerHandle {
  /** From 1 to `WORKERS`; a restarted worker keeps the number of the one it replaces. */
  readonly number: number;
  /** Tells the supervisor whether this worker takes new exchanges. */
  setReady(ready: boolean): void;
}

/** In a worker: its seat. In any other process: null. `collect` gives this process's metrics when the supervisor asks. */
export function joinSupervisor(collect: () => Promise<MetricObject[]>): WorkerHandle | null {
  if (!cluster.isWorker) return null;
  const send = (message: WorkerMessage) => void process.send?.(message);
  process.on('message', (message: SupervisorMessage) => {
    if (message.type === 'collect_metrics')
      void collect().then((metrics) => send({ type: 'metrics', id: message.id, metrics }));
  });
  return {
    number: Number(process.env[WORKER_NUMBER]),
    setReady: (ready) => send({ type: 'ready', ready }),
  };
}
