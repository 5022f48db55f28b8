import type { ExchangeRow } from '../exchange-json.ts';

const clock = new Intl.DateTimeFormat('en-GB', {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  fractionalSecondDigits: 1,
});

/** Writes a time as `14:05:09.3`, in the reader's time zone. */
export function formatTimeOfDay(unixMs: number): string {
  return clock.format(unixMs);
}

/** Writes a duration: `9.3 ms`, `412 ms`, `3.4 s`, `2 min 5 s`, or a dash if it is unknown. */
export function formatDuration(ms: number | null): string {
  if (ms === null) return '–';
  if (ms < 10) return `${ms.toFixed(1)} ms`;
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 1)} s`;
  const seconds = Math.round(ms / 1000);
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

export function formatSize(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  return bytes < 1024 * 1024 ? `${(bytes / 1024).toFixed(1)} KiB` : `${(bytes / 1024 / 1024).toFixed(1)} MiB`;
}

export function formatCount(number: number | null): string {
  return number === null ? '–' : number.toLocaleString('en-US');
}

/** The program of a `user-agent`, without what comes after it: `codex_cli_rs/0.9`. */
export function shortenUserAgent(userAgent: string | null): string {
  return userAgent?.split(' ')[0] ?? '–';
}

export function chooseTone(outcome: string): string {
  if (outcome === 'completed') return 'good';
  if (outcome === 'running' || outcome === 'open') return 'busy';
  return outcome === 'passed' ? 'quiet' : outcome === 'incomplete' || outcome === 'aborted' ? 'warn' : 'bad';
}

/** The title of a row: the user's words, else the request's other content, the endpoint, or the path. */
export function writeRowTitle(row: ExchangeRow): string {
  return row.said ?? row.given ?? findOtherEndpoint(row) ?? writeRequestLine(row);
}

/** The words of a row beside its title: the model, tool results, the endpoint, and the called tools. */
export function listRowWords(row: ExchangeRow): readonly string[] {
  const title = writeRowTitle(row);
  const called = row.called.length === 0 ? null : `called ${row.called.join(', ')}`;
  const known = [row.model ?? writeRequestLine(row), row.given, findOtherEndpoint(row), called];
  return known.filter((text) => text !== null && text !== title) as string[];
}

export function hasFailed({ status }: ExchangeRow): boolean {
  return status !== null && status >= 400;
}

function findOtherEndpoint({ endpoint }: ExchangeRow): string | null {
  return endpoint === 'responses' ? null : endpoint;
}

function writeRequestLine({ method, path }: ExchangeRow): string {
  return `${method ?? ''} ${path ?? ''}`.trim() || 'no request';
}
