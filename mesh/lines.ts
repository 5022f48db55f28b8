import { jsonOf, objectOf } from '../src/formats/json/loose.ts';

/** The form in which `npm start` shows its children's output: one short line for each request, or all of it as it is. */
export type LineFormat = 'json' | 'short';

/** Short lines are for people: in a terminal, unless `LOG_FORMAT` says otherwise. Throws a message for an unknown format. */
export function chooseLineFormat(environment: NodeJS.ProcessEnv, isTerminal: boolean): LineFormat {
  const { LOG_FORMAT: format } = environment;
  if (format === undefined || format === '') return isTerminal ? 'short' : 'json';
  if (format !== 'json' && format !== 'short') throw new Error(`LOG_FORMAT must be json or short, not "${format}".`);
  return format;
}

type Texts =
  | 'level'
  | 'time'
  | 'msg'
  | 'reason'
  | 'outcome'
  | 'code'
  | 'method'
  | 'path'
  | 'model'
  | 'route'
  | 'details';
type Numbers = 'status' | 'input_tokens' | 'output_tokens' | 'duration_ms';
/** A line of the service's log, or of Envoy's access log. */
type LogLine = Partial<Record<Texts, string | null> & Record<Numbers, number | null>> & { readonly dropped?: string[] };

/** Messages that say that an earlier error is over. They are shown, so that the error is not the last line. */
const goodNews: ReadonlySet<string> = new Set(['profiles file read again', 'certificate files read again']);

export function shortenLine(child: 'service' | 'envoy', line: string, format: LineFormat): string | null {
  if (format === 'json') return `${child.padEnd(7)} | ${line}`;
  return child === 'service' ? shortenServiceLine(line) : shortenEnvoyLine(line);
}

function shortenServiceLine(line: string): string | null {
  const read = readLogLine(line);
  if (read === null) return `service | ${line}`;
  if (read.msg !== 'exchange') {
    if (['info', 'debug', 'trace'].includes(read.level ?? '') && !goodNews.has(read.msg ?? '')) return null;
    const { level, msg = '', reason = '', time: _time, ...more } = read;
    const rest = Object.entries(more).map(([name, value]) => `${name}=${JSON.stringify(value)}`);
    return `service | ${[`${level}:`, msg, reason, ...rest].filter((word) => word !== '').join(' ')}`;
  }
  const { status, code, path, model, input_tokens: input, output_tokens: output, dropped = [] } = read;
  return joinColumns([
    formatTime(read.time),
    ...(path === null || path === undefined || /^\/v1\/responses\/?$/.test(path) ? [] : [`${read.method} ${path}`]),
    model ?? '-',
    [read.outcome, ...(code ? [status, code] : [])].join(' '),
    input === null || input === undefined ? '' : `${input} in, ${output ?? 0} out`,
    `${read.duration_ms} ms`,
    dropped.length === 0 ? '' : `left out: ${dropped.join(', ')}`,
  ]);
}

/** Shortens a line of Envoy's access log; null for a request that the service logs itself. */
function shortenEnvoyLine(line: string): string | null {
  const read = readLogLine(line);
  if (read === null) return `envoy   | ${line}`;
  const { route, details, status } = read;
  const unseen = !route || route.startsWith('untouched_') || details?.startsWith('ext_proc_error');
  if (!unseen) return null;
  const why = status != null && status >= 400 && details && details !== 'via_upstream' ? ` ${details}` : '';
  const request = `${read.method} ${read.path}`;
  return joinColumns([formatTime(read.time), request, `${status}${why}`, `${read.duration_ms} ms`]);
}

function joinColumns(words: readonly string[]): string {
  return words.filter((word) => word !== '').join('  ');
}

function formatTime(time: string | null | undefined): string {
  return new Date(time ?? Date.now()).toTimeString().slice(0, 8);
}

function readLogLine(line: string): LogLine | null {
  return objectOf(jsonOf(line)) as LogLine | null; // our own log lines
}
