/** The figures of README.md and of docs/{performance,operating,scaling}.md that come from a run of the bench, or follow from it. */
import { type ContenderName, contenderNames } from '../../bench/arguments.ts';
import type { PerProcess } from '../../bench/contenders.ts';
import type { CostName } from '../../bench/costs.ts';
import { readResults, type TableName } from '../../bench/results.ts';
import { documentsWith, type Generator, markdownTable } from './generator.ts';

export const benchTables: Generator = {
  name: 'figures of the bench',
  source: 'bench/results.json (npm run bench -- --record)',
  files: () =>
    documentsWith({
      'README.md': { cost: costInBrief() },
      'docs/performance.md': { costs: costs() },
      'docs/operating.md': { attacks: attacks() },
      'docs/scaling.md': scaling(),
    }),
};

const contenders: Readonly<Record<ContenderName, string>> = {
  envoy: 'Envoy alone',
  'noop-go': 'a no-op in Go',
  noop: 'a no-op in Node',
  service: 'this service',
};
type Process = keyof PerProcess;
const lines: readonly (readonly [what: string, cost: CostName, processes: readonly Process[]])[] = [
  ['a token alone, CPU µs', 'paced', ['filter', 'envoy']],
  ['a token in a burst, CPU µs', 'burst', ['filter', 'envoy']],
  ['a small JSON answer, CPU µs', 'json', ['filter', 'envoy']],
  ['1 MB of history, CPU ms', 'history', ['filter', 'envoy']],
  ['a Codex request, CPU ms', 'agent', ['filter', 'envoy']],
  ['resident under these loads, MB', 'MB under load', ['filter', 'envoy']],
  ['resident when idle, MB', 'MB idle', ['filter']],
  ['a start, CPU ms', 'CPU ms of a start', ['filter']],
];

function costs(): string {
  const { date, machine } = tableFor('costs');
  const rows = lines.flatMap(([what, cost, processes]) =>
    processes.map((process) => [
      what,
      process === 'envoy' ? 'Envoy' : 'filter',
      ...contenderNames.map((contender) => {
        if (contender === 'envoy' && process === 'filter') return '';
        const range = rangeOf(cost, process, contender);
        const divisor = what.endsWith('CPU ms') && cost !== 'CPU ms of a start' ? 1000 : 1;
        return `${briefly(range.median / divisor)} (${briefly(range.least / divisor)}–${briefly(range.most / divisor)})`;
      }),
    ]),
  );
  const table = markdownTable(['', 'of the', ...contenderNames.map((name) => contenders[name])], rows);
  return `Run on ${date} (${machine.replaceAll(';', ',')}).\nEach cell has the median, and the least and the most of all rounds.\n\n${table}`;
}

/** The sentence of README.md. */
function costInBrief(): string {
  const [service, noop] = [rangeOf('paced', 'filter', 'service'), rangeOf('paced', 'filter', 'noop')];
  const times = (service.median / noop.median).toFixed(1);
  const token = `A token costs ${briefly(service.least)} to ${briefly(service.most)} µs of CPU, ${times} times a no-op filter's`;
  return `${token}; an idle process has ${briefly(rangeOf('MB idle', 'filter', 'service').median)} MB ([performance](docs/performance.md)).`;
}

interface Range {
  readonly median: number;
  readonly least: number;
  readonly most: number;
}

/** Throws when the recorded run has no such figure. */
function rangeOf(cost: CostName, process: Process, contender: ContenderName): Range {
  const row = tableFor('costs').rows.find((cells) => cells.slice(0, 3).join() === [cost, process, contender].join());
  const [median, least, most] = (row ?? []).slice(3).map(Number);
  if (median === undefined || least === undefined || most === undefined)
    throw new Error(`bench/results.json has no ${cost} of ${contender}, ${process}: npm run bench -- --record`);
  return { median, least, most };
}

function briefly(figure: number): string {
  return shownOf(figure).toLocaleString('en');
}

/** Two digits, or all those before the point. */
function shownOf(figure: number): number {
  return figure >= 100 ? Math.round(figure) : Number(figure.toPrecision(2));
}

/** What every attack did to a container of each size. */
function attacks(): string {
  const { date, machine, headings, rows } = tableFor('attacks');
  const all = rows.map((row) => {
    const of = (heading: string) => Number(row[headings.indexOf(heading)]);
    const [own, cpuMs] = [of('own MiB more'), of('others’ CPU ms')];
    const library = of('MiB after') - of('idle MiB') - own;
    const lives = row[headings.indexOf('end')] === 'lives';
    return { container: of('MiB'), heap: of('heap'), lives, highest: of('highest MiB'), own, library, cpuMs };
  });
  const sizes = [...new Set(all.map(({ container }) => container))].map((container) => {
    const those = all.filter((one) => one.container === container);
    const most = (name: 'highest' | 'own' | 'library' | 'cpuMs') => Math.max(0, ...those.map((one) => one[name]));
    return [
      `${sizeName(container)}, ${those[0]?.heap} MB of heap`,
      `${those.filter(({ lives }) => lives).length} of ${those.length}`,
      ...[most('highest'), most('own'), most('library')].map((mib) => `${mib} MiB`),
      `${most('cpuMs')} ms`,
    ];
  });
  const ofMemory = ['most resident', 'more than before, 30 s later', 'free, but kept by the C library'];
  const ofTime = 'CPU time before another request is served';
  const table = markdownTable(['container', 'attacks survived', ...ofMemory, ofTime], sizes);
  return `Run on ${date} (${machine}):\n\n${table}`;
}

function sizeName(mib: number): string {
  return mib < 1024 ? `${mib} MiB` : `${mib / 1024} GiB`;
}

/** Figures computed from the CPU time of a token. */
function scaling(): Readonly<Record<string, string>> {
  const cpu = (cost: CostName) => ({
    // As they are shown: whoever computes the tables again gets the same.
    service: shownOf(rangeOf(cost, 'filter', 'service').median),
    envoy: shownOf(rangeOf(cost, 'envoy', 'service').median),
  });
  const line = (what: string, cost: CostName, unit: string) => {
    const { service, envoy } = cpu(cost);
    const perCore = (micros: number) => `${Number((1e6 / micros).toPrecision(2)).toLocaleString('en')} ${unit}/s`;
    return [what, briefly(service), briefly(envoy), perCore(service), perCore(service + envoy)];
  };
  const token = cpu('paced');
  const both = token.service + token.envoy;
  return {
    'scaling-figures': markdownTable(
      ['', 'service, CPU µs', 'Envoy, CPU µs', 'per core of the service', 'per core, Envoy included'],
      [
        line('a token alone (100 streams of 50 a second)', 'paced', 'tokens'),
        line('a token in a burst', 'burst', 'tokens'),
        line('a small JSON answer', 'json', 'requests'),
        line('1 MB of history', 'history', 'requests'),
        line('a Codex request', 'agent', 'requests'),
      ],
    ),
    'scaling-replicas': replicas(token.service, token.envoy),
    'scaling-cost': `A million tokens that arrive alone take ${briefly(token.service)} s of CPU time in the service and ${briefly(token.envoy)} s in Envoy: ${Math.round(both)} core-seconds, or ${Math.round(both / use)} at 60 % use. At an assumed 0.04 $ for an hour of one core that is ${((both / use / 3600) * 0.04).toFixed(3)} $; at another price, ${(both / use / 3600).toFixed(3)} times it.`,
  };
}

/** Share of a core at which the autoscaler adds a replica. */
const use = 0.6;
const streamsOfMemory = 7500;

function replicas(token: number, inEnvoy: number): string {
  const cores = (streams: number, perSecond: number, cost: number) => (streams * perSecond * cost) / 1e6 / use;
  const rates = [50, 5, 1];
  const rows = [1_000, 10_000, 100_000, 1_000_000].map((streams) => {
    const needed = [
      ...rates.map((rate) => Math.max(2, cores(streams, rate, token))),
      cores(streams, 50, inEnvoy),
      streams / streamsOfMemory,
    ];
    return [streams, ...needed.map((count) => Math.ceil(count - 0.01))].map((count) => count.toLocaleString('en'));
  });
  const each = rates.map((rate) => `${rate} token${rate === 1 ? '' : 's'}/s each`);
  return markdownTable(['concurrent streams', ...each, "Envoy's cores at 50", 'for memory alone'], rows);
}

function tableFor(name: TableName) {
  const table = readResults()[name];
  const command = name === 'attacks' ? 'RECORD=on npm test -- sizing' : 'npm run bench -- --record';
  if (table === undefined) throw new Error(`bench/results.json has no table ${name}: ${command}`);
  return table;
}
