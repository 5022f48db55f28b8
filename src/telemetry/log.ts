import pino, { type DestinationStream, type Logger } from 'pino';
import type { Config } from '../config.ts';

export type Log = Logger;

/** A logger that writes JSON lines to `destination`; with `worker`, each says which worker it is from. */
export function createLog(
  level: Config['LOG_LEVEL'],
  destination: DestinationStream,
  worker: number | null = null,
): Log {
  const base = worker === null ? null : { worker };
  return pino({ level, base, timestamp: pino.stdTimeFunctions.isoTime, formatters: { level: levelName } }, destination);
}

function levelName(label: string): object {
  return { level: label };
}
