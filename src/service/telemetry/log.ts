import pino, { type DestinationStream, type Logger } from 'pino';
import type { Config } from '../settings/config.ts';

/** The `msg` of every line; docs/watching.md explains each. */
export const logMessages = [
  'available again: ready',
  'cannot start',
  'certificate files read again',
  'draining',
  'every worker has stopped',
  'exchange',
  'INSPECT=on: anyone who can reach the admin port sees the contents of requests and answers',
  'internal error',
  'limit lowered to fit in memory',
  'listening',
  'misconfigured route',
  'overloaded: not ready',
  'profiles file read again',
  'spans did not reach the collector',
  'stopped',
  'stopping',
  'the changed certificate files cannot be used',
  'the changed profiles file cannot be used',
  'TLS handshake failed',
  'uncaught exception',
  'warning of the gRPC library',
  'websocket closed',
  'websocket refused',
  'worker exited',
  'workers started',
] as const;
export type LogMessage = (typeof logMessages)[number];

interface WriteLine {
  (message: LogMessage): void;
  (fields: object, message: LogMessage): void;
}
export type Log = Pick<Logger, 'bindings' | 'isLevelEnabled'> & Readonly<Record<pino.Level, WriteLine>>;

/** Creates a logger that writes JSON lines to `destination`, with the worker's number in each. */
export function createLog(
  level: Config['LOG_LEVEL'],
  destination: DestinationStream,
  worker: number | null = null,
): Log {
  const base = worker === null ? null : { worker };
  const formatters = { level: (label: string) => ({ level: label }) };
  const escaped: DestinationStream = { write: (line) => destination.write(escapeLine(line)) };
  return pino({ level, base, timestamp: pino.stdTimeFunctions.isoTime, formatters }, escaped);
}

type LineWriter = (level: pino.Level, fields: object, message: LogMessage) => void;

/**
 * Creates a writer of lines as `log` writes them to its `destination`, whether or not their level is enabled.
 * Fast path, for the line of each exchange: pino takes a tenth of the time of a small JSON answer. It is to be deleted below 3 %.
 */
export function createLineWriter(log: Log, destination: DestinationStream): LineWriter {
  const base = writeFields(log.bindings());
  return (level, fields, message) => {
    const head = `{"level":"${level}"${pino.stdTimeFunctions.isoTime()}${base}`;
    destination.write(escapeLine(`${head}${writeFields(fields)},"msg":${JSON.stringify(message)}}\n`));
  };
}

function writeFields(fields: object): string {
  const json = JSON.stringify(fields);
  return json === '{}' ? '' : `,${json.slice(1, -1)}`;
}

/** Characters that JSON does not escape, and some readers take for the end of a line or a command. */
const unsafe = /[\u007f-\u009f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/g;

export function escapeLine(json: string): string {
  return json.replace(unsafe, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** Creates a log for floods: of the first lines of each second, with the number of those left out before as `unlogged`. Metrics count all. */
export function createSampledInfo(
  log: Log,
  message: LogMessage,
  now = () => performance.now(),
): (details: object) => void {
  let second = now();
  let lines = 0;
  let unlogged = 0;
  return (details) => {
    if (now() - second >= 1000) {
      second = now();
      lines = 0;
    }
    lines += 1;
    if (lines > linesPerSecond) {
      unlogged += 1;
      return;
    }
    log.info(unlogged === 0 ? details : { ...details, unlogged }, message);
    unlogged = 0;
  };
}

const linesPerSecond = 10;

const warningIntervalMs = 60_000;

/** Creates a warning that is logged once a minute at most, with the sum of `count` since the last line. Metrics count all. */
export function createOccasionalWarning(
  log: Log,
  message: LogMessage,
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
