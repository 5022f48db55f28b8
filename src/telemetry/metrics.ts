import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import {
  type MetricOf,
  type MetricRow,
  metricRows,
  type ProcessState,
  type ReadRow,
  type SupervisorState,
  stateRows,
  supervisorRows,
  type WebSocketState,
  webSocketRows,
} from './metric-rows.ts';

export interface MetricsOptions {
  readonly version: string;
  /** Models with their own label; later ones count as `other`. */
  readonly maxModels: number;
  /** The worker's number, a label on all of its series, so that counters reset per worker; null without workers. */
  readonly worker: number | null;
  /** Read at each scrape. */
  readonly state: () => ProcessState;
}

/** The metrics of one process, by their names in `metric-rows.ts`. */
export type Metrics = { readonly [Name in keyof typeof metricRows]: MetricOf<(typeof metricRows)[Name]> } & {
  readonly registry: Registry;
  /** The label of a model. */
  readonly modelLabel: (model: string) => string;
};

/** Some servers accept any model name, however long. */
const MAX_LABEL_LENGTH = 120;

/** The metrics of one process, including Node's own. */
export function createMetrics({ version, maxModels, worker, state }: MetricsOptions): Metrics {
  const registry = new Registry();
  if (worker !== null) registry.setDefaultLabels({ worker: String(worker) });
  collectDefaultMetrics({ register: registry });
  const entries = Object.entries<MetricRow>(metricRows).map(([name, row]) => [name, metricOf(row, registry)]);
  for (const row of stateRows) readAtScrapes(row, state, registry);
  // Each is the class that its row's type says.
  const metrics = Object.fromEntries(entries) as Omit<Metrics, 'registry' | 'modelLabel'>;
  metrics.build.set({ version, node: process.versions.node }, 1);
  return { ...metrics, registry, modelLabel: createBoundedLabel(maxModels) };
}

/** The supervisor's own metrics, in addition to its workers'. */
export function createSupervisorMetrics(state: () => SupervisorState): Registry {
  const registry = new Registry();
  for (const row of supervisorRows) readAtScrapes(row, state, registry);
  return registry;
}

/** Adds what is read of the listener for WebSockets to the metrics of its process. */
export function addWebSocketMetrics({ registry }: Metrics, state: () => WebSocketState): void {
  for (const row of webSocketRows) readAtScrapes(row, state, registry);
}

function metricOf({ type, name, help, labels = [], buckets, values = [] }: MetricRow, registry: Registry) {
  const options = { name, help, labelNames: labels, registers: [registry] };
  switch (type) {
    case 'counter': {
      const counter = new Counter(options);
      const [label = ''] = labels;
      for (const value of values) counter.inc({ [label]: value }, 0);
      return counter;
    }
    case 'gauge':
      return new Gauge(options);
    case 'histogram':
      return new Histogram({ ...options, buckets: [...(buckets ?? [])] });
  }
}

function readAtScrapes<State>({ type, name, help, read }: ReadRow<State>, state: () => State, registry: Registry) {
  const options = { name, help, registers: [registry] };
  if (type === 'gauge') {
    const gauge: Gauge = new Gauge({ ...options, collect: () => gauge.set(read(state())) });
    return;
  }
  const counter: Counter = new Counter({
    ...options,
    collect() {
      counter.reset();
      counter.inc(read(state()));
    },
  });
}

/**
 * Labels for at most `most` names; every later name is `other`. Names come from clients, and a time series is never
 * freed.
 */
export function createBoundedLabel(most: number): (name: string) => string {
  const known = new Set<string>();
  return (name) => {
    const label = name.slice(0, MAX_LABEL_LENGTH);
    if (known.has(label)) return label;
    if (known.size >= most) return 'other';
    known.add(label);
    return label;
  };
}
