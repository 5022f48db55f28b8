import pino, { type DestinationStream, type Logger } from 'pino';
import type { Config } from '../config.ts';

export type Log = Logger;

/**
 * One write for many lines: each wakes a thread of the pool, which at thousands of answers a second costs more than the
 * lines. Lines wait for so long at most; what is still held when the process exits is written then.
 */
const batch = { minLength: 8 * 1024, periodicFlush: 200 };

/** JSON lines on standard output, or where it is told. */
export function createLog(level: Config['LOG_LEVEL'], destination?: DestinationStream): Log {
  const options = { level, base: null, timestamp: pino.stdTimeFunctions.isoTime, formatters: { level: levelName } };
  return pino(options, destination ?? pino.destination({ fd: 1, sync: false, ...batch }));
}

function levelName(label: string): object {
  return { level: label };
}
