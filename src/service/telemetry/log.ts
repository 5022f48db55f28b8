import pino, { type DestinationStream, type Logger } from 'pino';
import type { Config } from '../settings/config.ts';

export type Log = Logger;

/** A logger that writes JSON lines to `destination`; with `worker`, each says which worker it is from. */
export function createLog(
  level: Config['LOG_LEVEL'],
  destination: DestinationStream,
  worker: number | null = null,
): Log {
  const base = worker === null ? null : { worker };
  const formatters = { level: (label: string) => ({ level: label }) };
  return pino({ level, base, timestamp: pino.stdTimeFunctions.isoTime, formatters }, destination);
}

/** How often a recurring problem is logged. */
const warningIntervalMs = 60_000;

/**
 * A warning that is logged once a minute at most, with how many times `count` was reported since the last line. The
 * metrics still count every one.
 */
export function createOccasionalWarning(
  log: Log,
  message: string,
  now = () => performance.now(),
): (count: number, details: object) => void {
  let loggedAt = Number.NEGATIVE_INFINITY;
  let since = 0;
  return (count, details) => {
    since += count;
    if (now() - loggedAt < warningIntervalMs) return;
    log.warn({ ...details, count: since }, message);
    loggedAt = now();
    since = 0;
  };
}
