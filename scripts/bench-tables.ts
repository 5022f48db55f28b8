/** The figures of docs/performance.md, docs/operating.md and docs/scaling.md that come from a run of the bench, or follow from it. */
import { readResults, type TableName } from '../bench/results.ts';
import { tableOf } from '../bench/table.ts';
import { documentsWith, type Generator, markdownTable } from './generator.ts';

const shown = ['envoy', 'start', 'warm'] as const;

export const benchTables: Generator = {
  name: 'figures of the bench',
  source: 'bench/results.json (npm run bench -- --record)',
  files: () =>
    documentsWith({
      'docs/performance.md': Object.fromEntries(shown.map((name) => [`bench-${name}`, recorded(name)])),
      'docs/operating.md': { attacks: attacks() },
      'docs/scaling.md': scaling(),
    }),
};

function recorded(name: TableName): string {
  const { headings, rows } = tableFor(name);
  return tableOf(headings, rows);
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
  const lines = [...new Set(all.map(({ container }) => container))].map((container) => {
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
  const table = markdownTable(['container', 'attacks survived', ...ofMemory, ofTime], lines);
  return `Run on ${date} (${machine}):\n\n${table}`;
}

function sizeName(mib: number): string {
  return mib < 1024 ? `${mib} MiB` : `${mib / 1024} GiB`;
}

/** Figures computed from the CPU time of a token. */
function scaling(): Readonly<Record<string, string>> {
  const cpu = (row: string) => [
    figureOf('envoy', row, 'filter CPU µs', 'service'),
    figureOf('envoy', row, 'Envoy CPU µs', 'service'),
  ];
  const line = (what: string, row: string, unit: string) => {
    const [service = '', envoy = ''] = cpu(row);
    const perCore = (microseconds: number) => Number((1e6 / microseconds).toPrecision(3)).toLocaleString('en');
    const rates = [Number(service), Number(service) + Number(envoy)].map((cost) => `${perCore(cost)} ${unit}/s`);
    return [what, service, envoy, ...rates];
  };
  const [token = '', inEnvoy = ''] = cpu('paced (per token)');
  const both = Number(token) + Number(inEnvoy);
  return {
    'scaling-figures': markdownTable(
      ['', 'service, CPU µs', 'Envoy, CPU µs', 'per core of the service', 'per core, Envoy included'],
      [
        line('a token of a live stream (50 a second each, 100 streams)', 'paced (per token)', 'tokens'),
        line('a token in a burst', 'burst (per token)', 'tokens'),
        line('a small JSON response', 'json (per request)', 'requests'),
      ],
    ),
    'scaling-replicas': replicas(Number(token), Number(inEnvoy)),
    'scaling-cost': `A million tokens of live streams take ${token} s of CPU time in the service and ${inEnvoy} s in Envoy: ${Math.round(both)} core-seconds, or ${Math.round(both / use)} at 60 % use. At an assumed 0.04 $ for an hour of one core that is ${((both / use / 3600) * 0.04).toFixed(3)} $; at another price, ${(both / use / 3600).toFixed(3)} times it.`,
  };
}

/** Share of a core at which the autoscaler adds a replica. */
const use = 0.6;

/** CPU µs of a token in a slow stream, as docs/scaling.md says. */
const slowToken = 100;
const streamsOfMemory = 7500;

function replicas(token: number, inEnvoy: number): string {
  const cores = (streams: number, perSecond: number, cost: number) => (streams * perSecond * cost) / 1e6 / use;
  const rows = [1_000, 10_000, 100_000, 1_000_000].map((streams) => {
    const needed = [
      Math.max(2, cores(streams, 50, token)),
      cores(streams, 50, inEnvoy),
      Math.max(2, cores(streams, 5, slowToken)),
      Math.max(2, cores(streams, 1, slowToken)),
      streams / streamsOfMemory,
    ];
    return [streams, ...needed.map((count) => Math.ceil(count - 0.01))].map((count) => count.toLocaleString('en'));
  });
  const each = (perSecond: string, cost: number) => `${perSecond}/s each (${cost} µs)`;
  const slow = [each('5 tokens', slowToken), each('1 token', slowToken)];
  const headings = ['concurrent streams', each('50 tokens', token), "Envoy's cores", ...slow, 'for memory alone'];
  return markdownTable(headings, rows);
}

/** The figure of the first row that begins with these cells, in the first column of that name. Throws if there is none. */
function figureOf(part: (typeof shown)[number], row: string, column: string, second?: string): string {
  const { headings, rows } = tableFor(part);
  const found = rows.find(([first, next]) => first === row && (second === undefined || next === second));
  const figure = found?.[headings.indexOf(column)];
  if (typeof figure !== 'number') throw new Error(`bench/results.json: ${part} has no figure for ${row}, ${column}.`);
  return String(figure);
}

function tableFor(part: TableName) {
  const table = readResults()[part];
  const command = part === 'attacks' ? 'RECORD=on npm run test:sizing' : `npm run bench -- --only ${part} --record`;
  if (table === undefined) throw new Error(`bench/results.json has no table ${part}: ${command}`);
  return table;
}
