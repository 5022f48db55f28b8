import { constants, fstatSync, openSync, write, writeSync } from 'node:fs';

/** Where log lines go. Even if their reader is gone, nothing here throws, waits, or keeps the process alive. */
export type LogOutput = ReturnType<typeof createLogOutput>;

/**
 * One write for many lines: each wakes a thread of the pool, which at thousands of exchanges a second costs more than the
 * lines. They wait at most this many milliseconds.
 */
const flushDelayMs = 200;
const flushBytes = 64 * 1024;
/** What may wait for a slow reader; lines beyond it are lost. */
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
  let timer: NodeJS.Timeout | undefined;
  let drained: (() => void) | undefined;

  function flush(): void {
    clearTimeout(timer);
    timer = undefined;
    if (writingSince !== null) return;
    if (waiting.length === 0) {
      drained?.();
      return;
    }
    const lines = waiting;
    waiting = [];
    waitingBytes = 0;
    send(Buffer.from(lines.join('')), lines.length);
  }

  function send(bytes: Buffer, lines: number): void {
    writingSince = performance.now();
    write(target, bytes, 0, bytes.length, null, (error, written) => {
      if (error?.code === 'EAGAIN') {
        setTimeout(send, retryDelayMs, bytes, lines).unref();
        return;
      }
      if (error === null && written < bytes.length) {
        send(bytes.subarray(written), lines);
        return;
      }
      // EPIPE, ENOSPC, EIO, …: these lines are lost. The next ones are tried again, since a disk does not stay full.
      if (error !== null) lost += lines;
      writingSince = null;
      flush();
    });
  }

  return {
    write(line: string): void {
      if (waitingBytes + line.length > maxWaitingBytes) {
        lost += 1;
        return;
      }
      waiting.push(line);
      waitingBytes += line.length;
      if (waitingBytes >= flushBytes) flush();
      else timer ??= setTimeout(flush, flushDelayMs).unref();
    },
    /** Lines that could not be written: the reader is gone or too slow, or the disk is full. */
    get lost() {
      return lost;
    },
    /** Resolves when everything is written, or after that many milliseconds. */
    drain(timeoutMs: number): Promise<void> {
      return new Promise((resolve) => {
        const deadline = setTimeout(resolve, timeoutMs);
        drained = () => {
          clearTimeout(deadline);
          resolve();
        };
        flush();
      });
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
