import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { translatedHeaders } from '../../../src/filter/exchange/response-headers.ts';
import { logMessages } from '../../../src/service/telemetry/log.ts';
import { metricRows, stateRows, supervisorRows, webSocketRows } from '../../../src/service/telemetry/metric-rows.ts';
import { rules } from '../../support/monitoring.ts';

const root = join(import.meta.dirname, '../../..');
const page = readFileSync(join(root, 'docs/watching.md'), 'utf8');

/** What the first cells of the table under a heading name in code. */
function namedUnder(heading: string): readonly string[] {
  const chapter = page.split(`\n## ${heading}\n`)[1]?.split('\n## ')[0] ?? '';
  const cells = [...chapter.matchAll(/^\| (?:<a [^>]*><\/a>)?(`.*?) \|/gm)].map(([, cell = '']) => cell);
  return cells.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name));
}

/** The dashboard, the alerts, and the pages without the tables that are made from the metrics themselves. */
const readers = globSync(['docs/monitoring/*.{json,yaml}', 'docs/**/*.md', 'deploy/chart/README.md'], { cwd: root })
  .map((path) =>
    readFileSync(join(root, path), 'utf8').replace(/<!-- metrics: written by [\s\S]*?<!-- end of metrics -->/, ''),
  )
  .join('\n');

it.each(
  [metricRows, stateRows, webSocketRows, supervisorRows]
    .flatMap((rows) => Object.values<{ readonly name: string }>(rows))
    .map(({ name }) => name),
)('somebody reads %s: the dashboard, an alert, or a page that says when (else: remove it)', (name) => {
  // `…_websocket_evictions_total`, where a page shortens it.
  expect(readers.includes(name) || readers.includes(name.replace('responses_extproc', '…'))).toBe(true);
});

describe('docs/watching.md', () => {
  it('names each line that the service logs, and no other', () => {
    const described = [...page.matchAll(/"msg":"(\w+)"/g)].map(([, message]) => message);
    const written = new Set([...namedUnder('Logs'), ...described]);
    expect([...written].toSorted()).toEqual([...logMessages].toSorted());
  });

  it('says of each alert what to do, and of no other', () => {
    expect(namedUnder('Alerts')).toEqual(rules.map(({ alert }) => alert));
  });

  it('a certificate is reported a week before its end, as the alert says', () => {
    const { expr = '', annotations } = rules.find(({ alert }) => alert === 'ResponsesExtprocCertificateExpires') ?? {};
    const [, days, seconds] = /time\(\) \+ (\d+) \* (\d+)$/.exec(expr) ?? [];
    expect([Number(days), Number(seconds)]).toEqual([7, 24 * 60 * 60]);
    expect(annotations?.summary).toContain('within a week');
  });

  it('names the headers that the service adds to an event stream', () => {
    const { 'content-type': _, ...own } =
      translatedHeaders(new Map(), { stream: true, dropped: ['user'] }, 'id').set ?? {};
    expect(namedUnder('Headers')).toEqual(expect.arrayContaining(Object.keys(own)));
  });
});
