import pino, { type DestinationStream, type Logger } from 'pino';
import type { Config } from '../config.ts';

export type Log = Logger;

/** JSON lines on standard output, or where it is told. */
export function createLog(level: Config['LOG_LEVEL'], destination?: DestinationStream): Log {
  const options = { level, base: null, timestamp: pino.stdTimeFunctions.isoTime, formatters: { level: levelName } };
  return destination === undefined ? pino(options) : pino(options, destination);
}

function levelName(label: string): object {
  return { level: label };
}
