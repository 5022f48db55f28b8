/** The table of metrics in docs/watching.md. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type MetricRow,
  metricRows,
  stateRows,
  supervisorRows,
  webSocketRows,
} from '../src/service/telemetry/metric-rows.ts';
import { type Generator, withSection } from './generator.ts';

export const metricTable: Generator = {
  name: 'table of metrics',
  source: 'src/service/telemetry/metric-rows.ts',
  files: () => {
    const document = readFileSync(join(import.meta.dirname, '../docs/watching.md'), 'utf8');
    return { 'docs/watching.md': withSection(document, 'metrics', table()) };
  },
};

function table(): string {
  const ofSupervisor = supervisorRows.filter(({ name }) => !stateRows.some((row) => row.name === name));
  return [
    '| metric | labels | what |',
    '|---|---|---|',
    ...[...Object.values<MetricRow>(metricRows), ...stateRows].map((row) => lineOf(row, '')),
    ...webSocketRows.map((row) => lineOf(row, 'With `WEBSOCKET_LISTEN`. ')),
    ...ofSupervisor.map((row) => lineOf(row, 'With `WORKERS`. ')),
  ].join('\n');
}

function lineOf({ name, type, labels = [], help, more }: MetricRow, prefix: string): string {
  const what = more === undefined ? help : `${help} ${more}`;
  return `| \`${name}\`<br>${type} | ${labels.map((label) => `\`${label}\``).join(', ')} | ${prefix}${what} |`;
}
