import { constants, fstatSync, openSync, write, writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

/** The output of log lines. Even if their reader is gone, it neither throws, nor waits, nor keeps the process alive. */
export type LogOutput = ReturnType<typeof createLogOutput>;

/** Lines wait at most 200 ms, for one write of many: each write wakes a thread of the pool, which costs more than the lines. */
const flushDelayMs = 200;
const flushBytes = 64 * 1024;
/** So many bytes may wait for a slow reader; further lines are lost. */
const maxWaitingBytes = 1024 * 1024;
const retryDelayMs = 50;
/** A write that takes longer counts as one without a reader. */
const hungAfterMs = 1_000;

export function createLogOutput(fd: number) {
  const target = openWithoutWaiting(fd);
  let waiting: string[] = [];
  let waitingBytes = 0;
  let lost = 0;
  let writingSince: number | null = null;
  let flushing: Promise<void> | null = null;
  let timer: NodeJS.Timeout | undefined;

  function flush(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    flushing ??= writeWaiting().finally(() => {
      flushing = null;
    });
    return flushing;
  }

  async function writeWaiting(): Promise<void> {
    while (waiting.length > 0) {
      const lines = waiting;
      waiting = [];
      waitingBytes = 0;
      for (let bytes = Buffer.from(lines.join('')); bytes.length > 0; ) {
        writingSince = performance.now();
        try {
          bytes = bytes.subarray((await promisify(write)(target, bytes)).bytesWritten);
        } catch (error) {
          if ((error as NodeJS.ErrnoException).code === 'EAGAIN') await sleep(retryDelayMs, null, { ref: false });
          else {
            // EPIPE, ENOSPC, EIO, …: these lines are lost. Later ones may not be, since a disk does not stay full.
            lost += lines.length;
            break;
          }
        }
      }
      writingSince = null;
    }
  }

  return {
    write(line: string): void {
      if (waitingBytes + line.length > maxWaitingBytes) {
        lost += 1;
        return;
      }
      waiting.push(line);
      waitingBytes += line.length;
      if (waitingBytes >= flushBytes) void flush();
      else timer ??= setTimeout(flush, flushDelayMs).unref();
    },
    get lost() {
      return lost;
    },
    /** Resolves once all is written, or the time is over. */
    async drain(timeoutMs: number): Promise<void> {
      const deadline = new AbortController();
      await Promise.race([flush(), sleep(timeoutMs, null, { signal: deadline.signal }).catch(() => {})]);
      deadline.abort();
    },
    /** Writes the waiting lines synchronously before the process exits. Returns false if a write hangs. */
    flushAtExit(): boolean {
      if (writingSince !== null && performance.now() - writingSince > hungAfterMs) return false;
      try {
        if (waiting.length > 0) writeSync(target, waiting.join(''));
      } catch {
        lost += waiting.length;
      }
      waiting = [];
      return true;
    },
  };
}

/** Opens a pipe again, so that no write waits: one that nobody reads would block the exit of the process. Any other `fd` stays as it is. */
function openWithoutWaiting(fd: number): number {
  try {
    if (!fstatSync(fd).isFIFO()) return fd;
    return openSync(`/proc/self/fd/${fd}`, constants.O_WRONLY | constants.O_NONBLOCK);
  } catch {
    return fd;
  }
}
