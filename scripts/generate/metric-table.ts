/** The table of metrics in docs/watching.md. */
import {
  type MetricRow,
  metricRows,
  readType,
  stateRows,
  supervisorRows,
  webSocketRows,
} from '../../src/service/telemetry/metric-rows.ts';
import { documentsWith, type Generator, markdownTable } from './generator.ts';

export const metricTable: Generator = {
  name: 'table of metrics',
  source: 'src/service/telemetry/metric-rows.ts',
  files: () => documentsWith({ 'docs/watching.md': { metrics: table() } }),
};

/** Characters of a cell, about two lines of prose: a longer explanation stands below the table. */
const cellLength = 160;

/** The table, by name, with a place of its own for each metric, and what does not fit into its cells. */
function table(): string {
  const ofSupervisor = Object.entries(supervisorRows).filter(([name]) => !(name in stateRows));
  const rows = [
    ...[...Object.values<MetricRow>(metricRows), ...Object.values(stateRows)].map((row) => lineOf(row, '')),
    ...Object.values(webSocketRows).map((row) => lineOf(row, 'With `WEBSOCKET_LISTEN`. ')),
    ...ofSupervisor.map(([, row]) => lineOf(row, 'With `WORKERS`. ')),
  ].toSorted((one, other) => (one.row.name < other.row.name ? -1 : 1));
  const below = rows.flatMap(({ row, below }) => (below === null ? [] : [`- ${linkTo(row)}: ${below}`]));
  const cells = rows.map(({ row: { name, labels = [], ...row }, what }) => [
    `<a id="metric-${name}"></a>\`${name}\`<br>${readType({ name, ...row })}`,
    labels.map((label) => `\`${label}\``).join(', '),
    what,
  ]);
  return `${markdownTable(['metric', 'labels', 'what'], cells)}\n\nMore about some of them:\n\n${below.join('\n')}`;
}

function lineOf(row: MetricRow, prefix: string): { row: MetricRow; what: string; below: string | null } {
  const what = `${prefix}${row.help}`;
  if (row.more === undefined) return { row, what, below: null };
  const whole = `${what} ${row.more}`;
  return whole.length <= cellLength ? { row, what: whole, below: null } : { row, what, below: row.more };
}

function linkTo({ name }: MetricRow): string {
  return `[\`${name}\`](#metric-${name})`;
}
