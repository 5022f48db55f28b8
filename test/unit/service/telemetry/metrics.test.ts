import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { metricRows, readType, stateRows, supervisorRows } from '../../../../src/service/telemetry/metric-rows.ts';
import {
  createBoundedLabel,
  createMetrics,
  createSupervisorMetrics,
  forgetSeries,
  labelIdleMs,
  otherLabel,
} from '../../../../src/service/telemetry/metrics.ts';

const root = join(import.meta.dirname, '../../../..');
const sources = globSync('src/**/*.ts', { cwd: root }).map((path) => ({
  path,
  text: readFileSync(join(root, path), 'utf8'),
}));

const state = { ready: true, exchanges: 3, bufferedBytes: 0, profilesRejected: false, lostLogLines: 0 };
const createTestMetrics = () =>
  createMetrics({ version: '1', maxModels: 1, profile: 'generic', worker: null, state: () => state });
const createTestSupervisorMetrics = () =>
  createSupervisorMetrics(() => ({ readyWorkers: 2, restarts: 0, lostLogLines: 0 }));

it('what is registered has a row in docs/watching.md, which is written from the rows', async () => {
  const { registry } = createTestMetrics();
  const ofSupervisor = createTestSupervisorMetrics();
  const names = [...(await registry.getMetricsAsJSON()), ...(await ofSupervisor.getMetricsAsJSON())]
    .map(({ name }) => name)
    .filter((name) => !/^(process|nodejs)_/.test(name));
  expect(names.length).toBeGreaterThan(Object.keys(metricRows).length);
  const docs = readFileSync(join(root, 'docs/watching.md'), 'utf8');
  for (const name of names)
    expect(docs, `${name}: npm run generate`).toContain(`| <a id="metric-${name}"></a>\`${name}\`<br>`);
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

it('what is read at each scrape is told as the type that its name says', async () => {
  const text = (await createTestMetrics().registry.metrics()) + (await createTestSupervisorMetrics().metrics());
  for (const row of Object.values({ ...stateRows, ...supervisorRows }))
    expect(text).toContain(`# TYPE ${row.name} ${readType(row)}\n`);
  expect(text).toContain(`\n${stateRows.exchanges.name} 3\n`);
});

it('a worker’s have its number, and what is read is read at each scrape', async () => {
  const { registry } = createMetrics({
    ...{ version: '1.2.3', maxModels: 1, profile: 'generic', worker: 2 },
    state: () => state,
  });
  const linesOf = async () => (await registry.metrics()).split('\n').filter((line) => /^[^#]/.test(line));
  for (const lines of [await linesOf(), await linesOf()]) {
    expect(lines.filter((line) => !line.includes('worker="2"'))).toEqual([]);
    expect(lines).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^process_cpu_seconds_total\{/),
        `responses_extproc_build_info{version="1.2.3",node="${process.versions.node}",worker="2"} 1`,
        `${stateRows.exchanges.name}{worker="2"} 3`,
        `${stateRows.ready.name}{worker="2"} 1`,
      ]),
    );
  }
});

it('a model that makes room for another takes all of its series along', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  try {
    const metrics = createTestMetrics();
    const { registry, modelLabel } = metrics;
    expect(modelLabel('gone')).toBe('gone');
    metrics.tokens.inc({ model: 'gone' });
    metrics.estimatedTokens.inc({ model: 'gone' });
    for (const metric of [metrics.requestSeconds, metrics.firstTokenSeconds, metrics.tokenSeconds])
      metric.observe({ gen_ai_request_model: 'gone' }, 1);
    expect(await registry.metrics()).toContain('"gone"');
    expect(modelLabel('new')).toBe(otherLabel);
    vi.advanceTimersByTime(labelIdleMs);
    expect(modelLabel('new')).toBe('new');
    await new Promise(setImmediate);
    expect(await registry.metrics()).not.toContain('"gone"');
  } finally {
    vi.useRealTimers();
  }
});

describe('a bounded label', () => {
  it('is a name’s own for the first ones, and `other` after them', () => {
    const label = createBoundedLabel(2);
    expect(['a', 'b', 'c', 'a', 'd', 'b'].map((name) => label(name))).toEqual(['a', 'b', 'other', 'a', 'other', 'b']);
    expect(createBoundedLabel(0)('a')).toBe('other');
  });

  it('is given to a new name once an old one was not used for an hour, whose series are freed', () => {
    let now = 0;
    const forgotten: string[] = [];
    const label = createBoundedLabel(
      2,
      (name) => forgotten.push(name),
      () => now,
    );
    for (const [at, name, given] of [
      [0, 'invented', 'invented'],
      [1, 'used', 'used'],
      [labelIdleMs - 1, 'new', 'other'],
      [labelIdleMs - 1, 'used', 'used'],
      [labelIdleMs, 'new', 'new'],
      [labelIdleMs, 'invented', 'other'],
      [labelIdleMs, 'used', 'used'],
    ] as const) {
      now = at;
      expect(label(name), `${name} at ${at}`).toBe(given);
    }
    expect(forgotten).toEqual(['invented']);
  });

  it('is not given to a name that is only asked for', () => {
    const label = createBoundedLabel(1);
    expect(label('a', false)).toBe('other');
    expect(label('b')).toBe('b');
    expect(label('b', false)).toBe('b');
  });

  it('frees the series of that label alone, of counters and histograms', async () => {
    const genAi = { gen_ai_operation_name: 'chat', gen_ai_provider_name: 'openai' };
    const metrics = createMetrics({ version: '1', maxModels: 2, profile: 'generic', worker: 1, state: () => state });
    for (const model of ['a', 'b']) {
      metrics.tokens.inc({ model, type: 'input' });
      metrics.requestSeconds.observe({ ...genAi, gen_ai_request_model: model, error_type: '' }, 1);
    }
    await forgetSeries(metrics.tokens, 'model', 'a');
    await forgetSeries(metrics.requestSeconds, 'gen_ai_request_model', 'a');
    const text = await metrics.registry.metrics();
    expect(text).toContain('"b"');
    expect(text).not.toContain('"a"');
  });

  it('is never longer than a name should be', () => {
    expect(createBoundedLabel(1)('long '.repeat(1_000))).toHaveLength(120);
  });
});
