/** The form in which `npm start` shows its children's output: one short line for each request, or all of it as it is. */
export type LineFormat = 'json' | 'short';

/** Short lines are for people: in a terminal, unless `LOG_FORMAT` says otherwise. Throws a message for an unknown format. */
export function chooseLineFormat(environment: NodeJS.ProcessEnv, isTerminal: boolean): LineFormat {
  const { LOG_FORMAT: format } = environment;
  if (format === undefined || format === '') return isTerminal ? 'short' : 'json';
  if (format !== 'json' && format !== 'short') throw new Error(`LOG_FORMAT must be json or short, not "${format}".`);
  return format;
}

interface ServiceLine {
  readonly level?: string;
  readonly time?: string;
  readonly msg?: string;
  readonly reason?: string;
  readonly outcome?: string;
  readonly status?: number | null;
  readonly code?: string | null;
  readonly method?: string | null;
  readonly path?: string | null;
  readonly model?: string | null;
  readonly input_tokens?: number | null;
  readonly output_tokens?: number | null;
  readonly dropped?: readonly string[];
  readonly duration_ms?: number;
}

interface AccessLine {
  readonly time?: string;
  readonly method?: string | null;
  readonly path?: string | null;
  readonly route?: string | null;
  readonly status?: number;
  readonly details?: string | null;
  readonly duration_ms?: number | null;
}

/** Messages that say that an earlier error is over. They are shown, so that the error is not the last line. */
const goodNews: ReadonlySet<string> = new Set(['profiles file read again', 'certificate files read again']);

/** The text that `npm start` shows for a line of a child's output; null for a line that it hides. */
export function shortenLine(child: 'service' | 'envoy', line: string, format: LineFormat): string | null {
  if (format === 'json') return `${child.padEnd(7)} | ${line}`;
  return child === 'service' ? shortenServiceLine(line) : shortenEnvoyLine(line);
}

function shortenServiceLine(line: string): string | null {
  const read = readLogLine<ServiceLine>(line);
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
  const read = readLogLine<AccessLine>(line);
  if (read === null) return `envoy   | ${line}`;
  const { route, details, status } = read;
  const unseen = !route || route.startsWith('untouched_') || details?.startsWith('ext_proc_error');
  if (!unseen) return null;
  const why = status !== undefined && status >= 400 && details && details !== 'via_upstream' ? ` ${details}` : '';
  return joinColumns([
    formatTime(read.time),
    `${read.method} ${read.path}`,
    `${status}${why}`,
    `${read.duration_ms} ms`,
  ]);
}

function joinColumns(words: readonly string[]): string {
  return words.filter((word) => word !== '').join('  ');
}

function formatTime(time: string | undefined): string {
  return new Date(time ?? Date.now()).toTimeString().slice(0, 8);
}

function readLogLine<Shape>(line: string): Shape | null {
  if (!line.startsWith('{')) return null;
  try {
    return JSON.parse(line) as Shape; // our own log lines
  } catch {
    return null;
  }
}
