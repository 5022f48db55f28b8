/** The table of metrics in docs/watching.md. */
import {
  type MetricRow,
  metricRows,
  stateRows,
  supervisorRows,
  typeOf,
  webSocketRows,
} from '../src/service/telemetry/metric-rows.ts';
import { documentsWith, type Generator, markdownTable } from './generator.ts';

export const metricTable: Generator = {
  name: 'table of metrics',
  source: 'src/service/telemetry/metric-rows.ts',
  files: () => documentsWith({ 'docs/watching.md': { metrics: table() } }),
};

function table(): string {
  const ofSupervisor = Object.entries(supervisorRows).filter(([name]) => !(name in stateRows));
  return markdownTable(
    ['metric', 'labels', 'what'],
    [
      ...[...Object.values<MetricRow>(metricRows), ...Object.values(stateRows)].map((row) => lineOf(row, '')),
      ...Object.values(webSocketRows).map((row) => lineOf(row, 'With `WEBSOCKET_LISTEN`. ')),
      ...ofSupervisor.map(([, row]) => lineOf(row, 'With `WORKERS`. ')),
    ],
  );
}

function lineOf(row: MetricRow, prefix: string): string[] {
  const { name, labels = [], help, more } = row;
  const what = more === undefined ? help : `${help} ${more}`;
  return [`\`${name}\`<br>${typeOf(row)}`, labels.map((label) => `\`${label}\``).join(', '), `${prefix}${what}`];
}
