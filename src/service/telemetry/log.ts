import pino, { type DestinationStream, type Logger } from 'pino';
import type { Config } from '../settings/config.ts';

/** The `msg` of every line. docs/watching.md says what each means. */
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

/** Writes a line; whatever changes from one to the next goes into the fields. */
interface WriteLine {
  (message: LogMessage): void;
  (fields: object, message: LogMessage): void;
}
export type Log = Pick<Logger, 'bindings' | 'isLevelEnabled'> & Readonly<Record<pino.Level, WriteLine>>;

/** A logger that writes JSON lines to `destination`; with `worker`, each says which worker it is from. */
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

/** Writes a line of a level, with fields that JSON has. */
type LineWriter = (level: pino.Level, fields: object, message: LogMessage) => void;

/**
 * Writes lines as `log` would write them to its `destination`, whether or not their level is enabled.
 *
 * Fast path, for the line of each exchange: pino puts a line together of some hundred pieces, which is a tenth of what a small JSON
 * answer takes. Delete it when it saves less than 3 % of one.
 */
export function createLineWriter(log: Log, destination: DestinationStream): LineWriter {
  const base = fieldsOf(log.bindings());
  return (level, fields, message) => {
    const head = `{"level":"${level}"${pino.stdTimeFunctions.isoTime()}${base}`;
    destination.write(escapeLine(`${head}${fieldsOf(fields)},"msg":${JSON.stringify(message)}}\n`));
  };
}

function fieldsOf(fields: object): string {
  const json = JSON.stringify(fields);
  return json === '{}' ? '' : `,${json.slice(1, -1)}`;
}

/** Characters that JSON leaves as they are, and some readers take for the end of a line or a command: logs escape them. */
const unsafe = /[\u007f-\u009f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/g;

/** The same JSON without such characters. */
export function escapeLine(json: string): string {
  return json.replace(unsafe, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/**
 * A log of something that happens in floods: the first lines of each second, then none until the next, whose first line has how many
 * were left out as `unlogged`. The metrics still count every one.
 */
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

/** How often a recurring problem is logged. */
const warningIntervalMs = 60_000;

/**
 * A warning that is logged once a minute at most, with how many times `count` was reported since the last line. The
 * metrics still count every one.
 */
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
