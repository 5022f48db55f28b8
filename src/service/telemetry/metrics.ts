import { Counter, collectDefaultMetrics, Gauge, Histogram, type Metric, Registry } from 'prom-client';
import {
  type MetricOf,
  type MetricRow,
  metricRows,
  type ReadRows,
  readType,
  stateRows,
  supervisorRows,
} from './metric-rows.ts';

export interface MetricsOptions {
  readonly version: string;
  /** So many models have a label of their own; others count as `other`. */
  readonly maxModels?: number;
  /** The configured profile, of the series that are 0 from the start. */
  readonly profile: string;
  /** The label of all series, so that counters reset per worker; null without workers. */
  readonly worker: number | null;
  readonly state: () => StateOf<typeof stateRows>;
}

type StateOf<Rows extends ReadRows> = Readonly<Record<keyof Rows, number | boolean>>;

/** The metrics of one process, by their names in `metric-rows.ts`. */
export type Metrics = { readonly [Name in keyof typeof metricRows]: MetricOf<(typeof metricRows)[Name]> } & {
  readonly registry: Registry;
  readonly modelLabel: BoundedLabel;
};

/** Longer labels are cut: some servers accept a model's name of any length. */
const maxLabelLength = 120;

export function createMetrics({ version, maxModels = 50, profile, worker, state }: MetricsOptions): Metrics {
  const registry = new Registry();
  if (worker !== null) registry.setDefaultLabels({ worker: String(worker) });
  collectDefaultMetrics({ register: registry });
  const entries = Object.entries<MetricRow>(metricRows).map(([name, row]) => [
    name,
    createMetric(row, registry, profile),
  ]);
  readAtScrapes(stateRows, state, registry);
  // Each metric is of the class that its row says.
  const metrics = Object.fromEntries(entries) as Omit<Metrics, 'registry' | 'modelLabel'>;
  metrics.build.set({ version, node: process.versions.node }, 1);
  const modelLabel = createBoundedLabel(maxModels, (model) => {
    for (const metric of [metrics.tokens, metrics.estimatedTokens]) void forgetSeries(metric, 'model', model);
    for (const metric of [metrics.requestSeconds, metrics.firstTokenSeconds, metrics.tokenSeconds])
      void forgetSeries(metric, 'gen_ai_request_model', model);
  });
  return { ...metrics, registry, modelLabel };
}

export function createSupervisorMetrics(state: () => StateOf<typeof supervisorRows>): Registry {
  const registry = new Registry();
  readAtScrapes(supervisorRows, state, registry);
  return registry;
}

function createMetric(row: MetricRow, registry: Registry, profile: string) {
  const { name, help, labels = [], buckets = [], values = [] } = row;
  const options = { name, help, labelNames: labels, registers: [registry] };
  const type = readType(row);
  if (type === 'histogram') return new Histogram({ ...options, buckets: [...buckets] });
  if (type === 'gauge') return new Gauge(options);
  const counter = new Counter(options);
  const [label = ''] = labels;
  const others = labels.includes('profile') ? { profile } : {};
  for (const value of values) counter.inc({ [label]: value, ...others }, 0);
  return counter;
}

/** Adds the metrics of these rows, whose values each scrape reads from the state. */
export function readAtScrapes<Rows extends ReadRows>(rows: Rows, state: () => StateOf<Rows>, registry: Registry): void {
  for (const [key, row] of Object.entries(rows)) {
    const { name, help } = row;
    const collect = () => {
      metric.reset();
      metric.inc(Number(state()[key]));
    };
    const Class = readType(row) === 'counter' ? Counter : Gauge;
    const metric: Counter | Gauge = new Class({ name, help, registers: [registry], collect });
  }
}

export const otherLabel = 'other';

/** A label that was not used for an hour makes room for another. */
export const labelIdleMs = 60 * 60 * 1000;

/** Returns the label of a name. With `isNew` false, no new label is made. */
export type BoundedLabel = (name: string, isNew?: boolean) => string;

/** Creates labels for `most` names at once, `other` for the rest. Clients invent names, so a label that was unused for an hour makes room. */
export function createBoundedLabel(
  most: number,
  forget: (label: string) => void = () => {},
  now: () => number = () => performance.now(),
): BoundedLabel {
  const lastUse = new Map<string, number>(); // least recently used first
  return (name, isNew = true) => {
    const label = name.slice(0, maxLabelLength);
    if (!isNew && !lastUse.has(label)) return otherLabel;
    const at = now();
    if (!lastUse.delete(label) && lastUse.size >= most) {
      const [oldest] = lastUse;
      if (oldest === undefined || at - oldest[1] < labelIdleMs) return otherLabel;
      lastUse.delete(oldest[0]);
      forget(oldest[0]);
    }
    lastUse.set(label, at);
    return label;
  };
}

/** Frees all series of a metric whose label `name` has this value. */
export async function forgetSeries(metric: Metric, name: string, value: string): Promise<void> {
  const { values } = await metric.get();
  for (const { labels } of values) {
    const { le: _bucket, ...own } = labels as Record<string, string>;
    if (own[name] === value) metric.remove(own);
  }
}
