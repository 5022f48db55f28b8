import { type ChildProcess, fork } from 'node:child_process';
import { dirname, extname, join } from 'node:path';
import type { ExplainedRequest } from '../tools/inspect/exchange-json.ts';
import type { Explainer } from '../tools/inspect/explain-once.ts';
import type { ExplainAnswer } from './explain-worker.ts';

/** Limits of an explanation. The process ends `restAfterMs` after the last page was closed, since a page that filters opens another stream. */
const usualLimits = { timeoutMs: 30_000, heapMiB: 256, restAfterMs: 10_000 };

const worker = join(dirname(import.meta.filename), `explain-worker${extname(import.meta.filename)}`);

/** Explains requests in a process of its own, which lives while a page is open, and ends with an explanation that takes too long. */
export function createExplainer({ timeoutMs, heapMiB, restAfterMs } = usualLimits): Explainer {
  let child: ChildProcess | null = null;
  let isWanted = false;
  let resting: NodeJS.Timeout | undefined;

  function start(): ChildProcess {
    if (child !== null) return child;
    const started = fork(worker, [], {
      execArgv: [`--max-old-space-size=${heapMiB}`],
      // A body is passed as its bytes.
      serialization: 'advanced',
      // V8 writes a report when the heap is full, which would be in the service's log.
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    const forget = () => {
      if (child === started) child = null;
    };
    started.once('exit', forget).on('error', forget);
    started.unref();
    started.channel?.unref();
    child = started;
    return started;
  }

  function end(): void {
    child?.kill('SIGKILL');
    child = null;
  }

  function rest(): void {
    clearTimeout(resting);
    if (!isWanted) resting = setTimeout(end, restAfterMs).unref();
  }

  return {
    prepare() {
      isWanted = true;
      clearTimeout(resting);
      start();
    },
    rest() {
      isWanted = false;
      rest();
    },
    async explain(request, signal) {
      clearTimeout(resting);
      try {
        const answer = await ask(start(), request, AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]));
        if ('problem' in answer) throw new Error(answer.problem);
        return Buffer.from(answer.gzip);
      } catch (error) {
        if (!(error instanceof Unanswered)) throw error;
        end();
        if (isWanted) start();
        signal.throwIfAborted();
        throw new Error(`Explaining it took longer than ${timeoutMs / 1000} s, or too much memory.`);
      } finally {
        rest();
      }
    },
    close() {
      clearTimeout(resting);
      end();
    },
  };
}

/** The process has ended, or nobody waits for its answer. */
class Unanswered extends Error {}

async function ask(child: ChildProcess, request: ExplainedRequest, signal: AbortSignal): Promise<ExplainAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<ExplainAnswer>();
  const unanswered = () => reject(new Unanswered());
  child.once('message', resolve).once('exit', unanswered).once('error', unanswered);
  signal.addEventListener('abort', unanswered);
  child.send(request, (error) => error === null || unanswered());
  try {
    return await promise;
  } finally {
    child.off('message', resolve).off('exit', unanswered).off('error', unanswered);
    signal.removeEventListener('abort', unanswered);
  }
}
