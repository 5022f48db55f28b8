import { connectionManagerOf, type EnvoyConfig } from '../tools/mesh/envoy-config.ts';
import { type Contender, type ContenderOptions, type Slice, startContender, startUpstream } from './contenders.ts';
import { costOf, history, type Scenario, scenarios, warmUp } from './envoy-scenarios.ts';
import { type Cell, median, ratio } from './table.ts';

interface Variant {
  readonly name: string;
  readonly options: ContenderOptions;
}

const connectionWindow = 2 ** 24;
const wider = { connectionWindow, initialWindowSize: 2 ** 20 };

/** The no-op behind the shipped Envoy, but for what the name says. */
export const variants: readonly Variant[] = [
  { name: 'no ext_proc: a plain proxy', options: { edit: withoutFilter } },
  { name: 'headers only', options: { edit: onlyHeaders } },
  { name: 'responses STREAMED', options: { edit: withResponseMode('STREAMED') } },
  { name: 'responses BUFFERED', options: { edit: withResponseMode('BUFFERED') } },
  { name: 'requests FULL_DUPLEX_STREAMED', options: { edit: withRequestMode('FULL_DUPLEX_STREAMED') } },
  { name: 'a UNIX socket to the filter', options: { unixSocket: true } },
  { name: '--concurrency 2', options: { threads: 2 } },
  { name: 'nghttp2 instead of oghttp2', options: { edit: withoutFeature('http2_use_oghttp2') } },
  { name: 'no histograms of HTTP/2', options: { edit: withoutFeature('http2_record_histograms') } },
  { name: 'no access log', options: { edit: withoutAccessLog } },
  { name: 'no idle timers', options: { edit: withoutIdleTimers } },
  { name: 'no overload manager', options: { edit: withoutOverloadManager } },
  { name: 'no statistics', options: { edit: withoutStatistics } },
  { name: 'a window of 16 MiB for the connection', options: { http2Settings: { connectionWindow } } },
  { name: '… and 256 KiB for a stream', options: { http2Settings: { connectionWindow, initialWindowSize: 2 ** 18 } } },
  { name: '… and 1 MiB for a stream', options: { http2Settings: wider } },
  { name: '… and frames of 256 KiB', options: { http2Settings: { ...wider, maxFrameSize: 2 ** 18 } } },
];

const loads: readonly Scenario[] = [...scenarios, history];

export const floorHeadings = [
  'Envoy',
  ...loads.flatMap(({ name, unit }) => [`${name}: Envoy’s CPU µs a ${unit}`, '×', 'filter’s']),
];

/** So many Envoys and filters at a time, the shipped one not counted. */
const groupSize = 5;

/**
 * What Envoy itself costs, by its settings. The shipped configuration and some variants take turns at each load, so that
 * the ratios do not depend on what else the machine does; medians of `rounds` slices. The first row gives the shipped
 * one's own figures, over all of its slices.
 */
export async function runFloor(rounds: number, note: (line: string) => void): Promise<Cell[][]> {
  const upstream = await startUpstream();
  const running: { readonly name: string; readonly contender: Contender }[] = [];
  const start = async (name: string, options: ContenderOptions) => {
    const contender = await startContender('noop', upstream.port, options);
    running.push({ name, contender });
    await contender.measure({ ...warmUp, seconds: 1.5 });
    await contender.measure({ ...warmUp, stream: false, seconds: 1 });
  };
  const slices = new Map<string, (readonly [shipped: Slice, Slice])[]>();
  try {
    await start(shippedName, {});
    for (let first = 0; first < variants.length; first += groupSize) {
      for (const { name, options } of variants.slice(first, first + groupSize)) await start(name, options);
      for (let round = 0; round < rounds; round++)
        for (const load of loads) {
          const measured = new Map<string, Slice>();
          for (const { name, contender } of round % 2 === 0 ? running : running.toReversed())
            measured.set(name, await sliceOf(load, contender, name));
          const shipped = measured.get(shippedName) as Slice;
          for (const [name, slice] of measured) {
            const key = keyOf(name, load);
            slices.set(key, [...(slices.get(key) ?? []), [shipped, slice]]);
          }
        }
      for (const { name, contender } of running.splice(1)) {
        await contender.stop();
        note(`floor: ${name}`);
      }
    }
  } finally {
    for (const { contender } of running) await contender.stop();
    await upstream.child.stop();
  }
  return [shippedName, ...variants.map(({ name }) => name)].map((name) => [
    name,
    ...loads.flatMap((load) => cellsOf(load, name, slices.get(keyOf(name, load)) ?? [])),
  ]);
}

const shippedName = 'as shipped';

function cellsOf(load: Scenario, name: string, pairs: readonly (readonly [shipped: Slice, Slice])[]): Cell[] {
  const costs = (part: 'envoy' | 'filter') => pairs.map((pair) => pair.map((slice) => costOf(load, slice, part)));
  const ratios = costs('envoy').map(([shipped = Number.NaN, cost = Number.NaN]) => cost / shipped);
  return [
    median(costs('envoy').map(([, cost = Number.NaN]) => cost)),
    name === shippedName ? '' : ratio(median(ratios), 1),
    median(costs('filter').map(([, cost = Number.NaN]) => cost)),
  ];
}

function keyOf(name: string, load: Scenario): string {
  return `${name}: ${load.name}`;
}

async function sliceOf(load: Scenario, contender: Contender, variant: string): Promise<Slice> {
  const slice = await contender.measure(load.load);
  if (slice.failures.length > 0) throw new Error(`${variant}, ${load.name}: ${slice.failures[0]}`);
  return slice;
}

/** Requests pass as if there were no filter. */
export function withoutFilter(config: EnvoyConfig): void {
  for (const host of connectionManagerOf(config).route_config.virtual_hosts)
    for (const route of host.routes) delete route.typed_per_filter_config;
}

type ProcessingMode = Readonly<Record<string, string>>;

function withMode(config: EnvoyConfig, mode: ProcessingMode): void {
  Object.assign(connectionManagerOf(config).http_filters[0].typed_config.processing_mode, mode);
}

/** The filter sees no body. */
export function onlyHeaders(config: EnvoyConfig): void {
  withMode(config, { request_body_mode: 'NONE', response_body_mode: 'NONE', response_trailer_mode: 'SKIP' });
}

function withResponseMode(mode: string): (config: EnvoyConfig) => void {
  return (config) => withMode(config, { response_body_mode: mode });
}

function withRequestMode(mode: string): (config: EnvoyConfig) => void {
  return (config) => withMode(config, { request_body_mode: mode, request_trailer_mode: 'SEND' });
}

function withoutFeature(name: string): (config: EnvoyConfig) => void {
  const layer = { name: 'features', static_layer: { [`envoy.reloadable_features.${name}`]: false } };
  return (config) => Object.assign(config, { layered_runtime: { layers: [layer] } });
}

function withoutAccessLog(config: EnvoyConfig): void {
  Object.assign(connectionManagerOf(config), { access_log: [] });
}

function withoutIdleTimers(config: EnvoyConfig): void {
  const manager = connectionManagerOf(config);
  Object.assign(manager, { stream_idle_timeout: '0s', request_timeout: '0s' });
  for (const route of manager.route_config.virtual_hosts[0].routes) Object.assign(route.route, { idle_timeout: '0s' });
}

function withoutOverloadManager(config: EnvoyConfig): void {
  Object.assign(config, { overload_manager: undefined });
}

function withoutStatistics(config: EnvoyConfig): void {
  Object.assign(config, { stats_config: { stats_matcher: { reject_all: true } } });
}
