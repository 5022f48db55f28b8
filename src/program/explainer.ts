import { type ChildProcess, fork } from 'node:child_process';
import { dirname, extname, join } from 'node:path';
import type { ExplainedRequest } from '../tools/inspect/exchange-json.ts';
import type { Explainer } from '../tools/inspect/explain-once.ts';
import type { ExplainAnswer } from './explain-worker.ts';

/**
 * Limits of an explanation: `explain` runs a request some hundred times, and of a long one that takes seconds. The process ends so long
 * after the last page was closed: a page that filters closes its stream and opens another.
 */
const usualLimits = { timeoutMs: 30_000, heapMiB: 256, restAfterMs: 10_000 };

const worker = join(dirname(import.meta.filename), `explain-worker${extname(import.meta.filename)}`);

/**
 * Explains requests in a process of its own: neither its work nor its memory is the service's. It lives while a page is open,
 * since to start one takes longer than most explanations. One that takes too long, or that nobody waits for, is ended with it.
 */
export function createExplainer({ timeoutMs, heapMiB, restAfterMs } = usualLimits): Explainer {
  let child: ChildProcess | null = null;
  let isWanted = false;
  let resting: NodeJS.Timeout | undefined;

  function started(): ChildProcess {
    if (child !== null) return child;
    const made = fork(worker, [], {
      execArgv: [`--max-old-space-size=${heapMiB}`],
      // A body is passed as its bytes.
      serialization: 'advanced',
      // V8 writes a report when the heap is full, which would stand in the service's log.
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    made.once('exit', () => forget(made));
    made.on('error', () => forget(made));
    made.unref();
    made.channel?.unref();
    child = made;
    return made;
  }

  function forget(ended: ChildProcess): void {
    if (child === ended) child = null;
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
      started();
    },
    rest() {
      isWanted = false;
      rest();
    },
    async explain(request, signal) {
      clearTimeout(resting);
      try {
        const answer = await answerOf(started(), request, AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]));
        if ('problem' in answer) throw new Error(answer.problem);
        return Buffer.from(answer.gzip);
      } catch (error) {
        if (!(error instanceof Unanswered)) throw error;
        end();
        if (isWanted) started();
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

/** The process ended, or is not waited for any longer. */
class Unanswered extends Error {}

async function answerOf(child: ChildProcess, request: ExplainedRequest, signal: AbortSignal): Promise<ExplainAnswer> {
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
