import { constants, fstatSync, openSync, write, writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

/** Where log lines go. Even if their reader is gone, nothing here throws, waits, or keeps the process alive. */
export type LogOutput = ReturnType<typeof createLogOutput>;

/**
 * One write for many lines: each wakes a thread of the pool, which at thousands of exchanges a second costs more than the
 * lines. They wait at most this many milliseconds.
 */
const flushDelayMs = 200;
const flushBytes = 64 * 1024;
/** Bytes that may wait for a slow reader; lines beyond them are lost. */
const maxWaitingBytes = 1024 * 1024;
const retryDelayMs = 50;
/** A write that takes longer has no reader. */
const hungAfterMs = 1_000;

/** Writes to a file descriptor that is already open. */
export function createLogOutput(fd: number) {
  const target = withoutWaiting(fd);
  let waiting: string[] = [];
  let waitingBytes = 0;
  let lost = 0;
  /** When the current write began. */
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
            // EPIPE, ENOSPC, EIO, …: these lines are lost. The next ones are tried again, since a disk does not stay full.
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
    /** Lines that could not be written: the reader is gone or too slow, or the disk is full. */
    get lost() {
      return lost;
    },
    /** Resolves when everything is written, or after that many milliseconds. */
    async drain(timeoutMs: number): Promise<void> {
      const deadline = new AbortController();
      await Promise.race([flush(), sleep(timeoutMs, null, { signal: deadline.signal }).catch(() => {})]);
      deadline.abort();
    },
    /** Writes the waiting lines synchronously before the process exits. Returns false if a write hangs and must not be waited for. */
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

/**
 * The pipe of `fd`, opened again so that a write to it never waits: a pipe that nobody reads would block a thread of the pool
 * forever, and the exit of the process with it. Anything else, or a pipe that cannot be reopened, is used as it is. (A
 * file must stay as it is: its position is shared with standard error.)
 */
function withoutWaiting(fd: number): number {
  try {
    if (!fstatSync(fd).isFIFO()) return fd;
    return openSync(`/proc/self/fd/${fd}`, constants.O_WRONLY | constants.O_NONBLOCK);
  } catch {
    return fd;
  }
}
