import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { metricRows } from '../../../../src/service/telemetry/metric-rows.ts';
import { createMetrics, createSupervisorMetrics } from '../../../../src/service/telemetry/metrics.ts';

const root = join(import.meta.dirname, '../../../..');
const sources = globSync('src/**/*.ts', { cwd: root }).map((path) => ({
  path,
  text: readFileSync(join(root, path), 'utf8'),
}));

it('what is registered has a row in docs/watching.md, which is written from the rows', async () => {
  const state = { ready: true, exchanges: 0, bufferedBytes: 0, profilesRejected: false, lostLogLines: 0 };
  const { registry } = createMetrics({
    version: '1',
    maxModels: 1,
    profile: 'generic',
    worker: null,
    state: () => state,
  });
  const ofSupervisor = createSupervisorMetrics(() => ({ readyWorkers: 2, restarts: 0, lostLogLines: 0 }));
  const names = [...(await registry.getMetricsAsJSON()), ...(await ofSupervisor.getMetricsAsJSON())]
    .map(({ name }) => name)
    .filter((name) => !/^(process|nodejs)_/.test(name));
  expect(names.length).toBeGreaterThan(Object.keys(metricRows).length);
  const docs = readFileSync(join(root, 'docs/watching.md'), 'utf8');
  for (const name of names) expect(docs, `${name}: npm run generate`).toContain(`| \`${name}\`<br>`);
});

it('metrics are made from the rows alone', () => {
  const makers = sources.filter(({ text }) => /new (?:Counter|Gauge|Histogram|Summary)\b/.test(text));
  const where = 'give it a row in src/service/telemetry/metric-rows.ts instead';
  expect(
    makers.map(({ path }) => path),
    where,
  ).toEqual(['src/service/telemetry/metrics.ts']);
});

it.each(Object.keys(metricRows))('something counts in metrics.%s', (name) => {
  const counts = new RegExp(`\\bmetrics\\.${name}\\b`);
  const users = sources.filter(
    ({ path, text }) => path !== 'src/service/telemetry/metric-rows.ts' && counts.test(text),
  );
  expect(users, 'count in it, or remove its row').not.toEqual([]);
});
