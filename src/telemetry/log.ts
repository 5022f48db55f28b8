import pino, { type DestinationStream, type Logger } from 'pino';
import type { Config } from '../config.ts';

export type Log = Logger;

/**
 * Fast path: one write for many lines, since each wakes a thread of the pool, which at thousands of exchanges a second
 * costs more than the lines. Lines wait at most this many milliseconds; what is still buffered at exit is written then.
 * Delete it when pino's synchronous destination is as cheap.
 */
const batch = { minLength: 8 * 1024, periodicFlush: 200 };

/** A logger that writes JSON lines to standard output, or to `destination`. */
export function createLog(level: Config['LOG_LEVEL'], destination?: DestinationStream): Log {
  const options = { level, base: null, timestamp: pino.stdTimeFunctions.isoTime, formatters: { level: levelName } };
  return pino(options, destination ?? pino.destination({ fd: 1, sync: false, ...batch }));
}

function levelName(label: string): object {
  return { level: label };
}
