import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import type { ComparedPartName } from './arguments.ts';
import { type Contender, startContender, startUpstream } from './contenders.ts';
import { type Figure, figuresOf, type Scenario, scenarios, warmUp } from './envoy-scenarios.ts';
import { measureIdle, measureStart } from './start-up.ts';
import type { Cell } from './table.ts';
import { buildOwnTree, checkOut, shareMicro, type Tree } from './trees.ts';
import { type Better, judge, looksDifferent, type Pair } from './verdict.ts';
import { measureYoung } from './young.ts';

export const comparisonHeadings = ['figure', 'before', 'after', '×', '95 % of ×', 'verdict'];

type Sides = readonly [Tree, Tree];
/** Figures of both trees, by the same names, measured one right after the other. */
type Measured = readonly [readonly Figure[], readonly Figure[]];

/** Figures that one run measures together. */
interface Part {
  readonly name: string;
  /** One slice of each tree, the second tree first where `swapped`. */
  readonly measure: (sides: Sides, swapped: boolean) => Promise<Measured>;
}

/**
 * Compares the work tree with a commit: `rounds` pairs of slices for each figure, their order alternating, and as many
 * again for the parts in which a figure looks different. Returns the rows of a table, medians of slices, with the verdict
 * of `verdict.ts`. Throws when one of the two cannot be built or started, and when an answer is incomplete.
 */
export async function compareWith(
  ref: string,
  { only, rounds, note }: { only: ReadonlySet<ComparedPartName>; rounds: number; note: (line: string) => void },
): Promise<{ readonly names: readonly [string, string]; readonly rows: Cell[][] }> {
  const sides = [checkOut(ref, note), buildOwnTree()] as const;
  const wanted = new Set(only);
  if ((only.has('micro') || only.has('exchange')) && !shareMicro(sides[0], note)) {
    wanted.delete('micro');
    wanted.delete('exchange');
  }
  const rows: Cell[][] = [];
  for (const part of partsOf(wanted)) {
    const first = await runPass(part, sides, rounds, note);
    const doubtful = [...first].filter(([, { pairs }]) => looksDifferent(pairs)).map(([name]) => name);
    if (doubtful.length > 0) note(`${part.name}: once more, for ${doubtful.join('; ')}`);
    const second = doubtful.length > 0 ? await runPass(part, sides, rounds, note) : null;
    for (const [name, { better, pairs }] of first) {
      const again = second?.get(name)?.pairs;
      const { before, after, ratio, interval, verdict } = judge(again === undefined ? [pairs] : [pairs, again], better);
      const range = `${interval.low.toFixed(2)}–${interval.high.toFixed(2)}`;
      rows.push([name, before, after, ratio.toFixed(2), range, verdict]);
    }
  }
  return { names: [sides[0].name, sides[1].name], rows };
}

type Pass = ReadonlyMap<string, { readonly better: Better; readonly pairs: readonly Pair[] }>;

async function runPass(part: Part, sides: Sides, rounds: number, note: (line: string) => void): Promise<Pass> {
  const pass = new Map<string, { better: Better; pairs: Pair[] }>();
  for (let round = 0; round < rounds; round++) {
    const [before, after] = await part.measure(sides, round % 2 === 1);
    for (const { name, value, better } of before) {
      // A case that only one of the two has cannot be compared.
      const other = after.find((figure) => figure.name === name);
      if (other === undefined) continue;
      const entry = pass.get(name) ?? { better, pairs: [] };
      entry.pairs.push({ before: value, after: other.value });
      pass.set(name, entry);
    }
    note(`${part.name}: round ${round + 1} of ${rounds}`);
  }
  return pass;
}

function partsOf(only: ReadonlySet<ComparedPartName>): Part[] {
  const all: (Part | null)[] = [
    only.has('micro') ? microPart('micro', ['ext_proc', 'stream'], 40) : null,
    only.has('exchange') ? microPart('exchange', ['exchange'], 150) : null,
    only.has('start') ? { name: 'start', measure: inTurn(startFigures) } : null,
    only.has('idle') ? { name: 'idle', measure: inTurn(idleFigures) } : null,
    only.has('young') ? { name: 'young', measure: inTurn(youngFigures) } : null,
    envoyPart(scenarios.filter(({ name }) => only.has(name))),
  ];
  return all.filter((part) => part !== null);
}

/** One tree after the other. */
function inTurn(slice: (tree: Tree) => Promise<Figure[]> | Figure[]): Part['measure'] {
  return async ([before, after], swapped) => {
    const first = await slice(swapped ? after : before);
    const second = await slice(swapped ? before : after);
    return swapped ? [second, first] : [first, second];
  };
}

/** A process for each slice: compilation by V8 and memory layout differ from one to the next. */
function microPart(name: string, groups: readonly string[], ms: number): Part {
  const args = ['--ms', `${ms}`, ...groups.flatMap((group) => ['--group', group])];
  return {
    name,
    measure: inTurn(({ root, name: tree }) => {
      const { status, stdout, stderr } = spawnSync(process.execPath, [join(root, 'bench/micro.ts'), ...args], {
        encoding: 'utf8',
      });
      if (status !== 0) throw new Error(`bench/micro.ts of ${tree} failed: ${stderr}`);
      return microFigures(stdout).filter(({ group }) => groups.includes(group));
    }),
  };
}

/** The figures in the table that `bench/micro.ts` prints. */
function microFigures(table: string): (Figure & { readonly group: string })[] {
  return table.split('\n').flatMap((line) => {
    const [group, what, text] = line
      .slice(1, -1)
      .split('|')
      .map((cell) => cell.trim());
    const value = Number(text?.replaceAll(',', ''));
    if (group === undefined || what === undefined || text === undefined || Number.isNaN(value)) return [];
    return [{ group, name: `${group}: ${what}, CPU µs`, value, better: 'lower' as const }];
  });
}

async function startFigures({ root }: Tree): Promise<Figure[]> {
  const { bare, printConfig, listening } = await measureStart(root);
  return [
    lower('start: --print-config, × the time of bare Node', printConfig.ms / bare.ms),
    lower('start: --print-config, × the CPU time of bare Node', printConfig.cpuMs / bare.cpuMs),
    lower('start: until it listens, × the time of bare Node', listening.ms / bare.ms),
    lower('start: until it listens, × the CPU time of bare Node', listening.cpuMs / bare.cpuMs),
  ];
}

async function idleFigures({ root }: Tree): Promise<Figure[]> {
  const { serviceMb, bareMb } = await measureIdle(root);
  return [lower('idle: resident, × bare Node', serviceMb / bareMb)];
}

async function youngFigures({ root }: Tree): Promise<Figure[]> {
  const costs = await measureYoung(root);
  return costs.map(({ what, cpuMicros }) => lower(`young: ${what}, CPU µs`, cpuMicros));
}

/** Both services and their Envoys restart for each round, for the same reason as above, and alternate for each load. */
function envoyPart(wanted: readonly Scenario[]): Part | null {
  if (wanted.length === 0) return null;
  return {
    name: wanted.map(({ name }) => name).join(', '),
    async measure(sides, swapped) {
      const upstream = await startUpstream();
      const contenders: Contender[] = [];
      const figures: [Figure[], Figure[]] = [[], []];
      const order = swapped ? ([1, 0] as const) : ([0, 1] as const);
      try {
        for (const { root } of sides) contenders.push(await startContender('service', upstream.port, root));
        for (const side of order) {
          await contenders[side]?.measure({ ...warmUp, seconds: 2 });
          await contenders[side]?.measure({ ...warmUp, stream: false, seconds: 1 });
        }
        for (const scenario of wanted)
          for (const side of order) {
            const contender = contenders[side];
            if (contender !== undefined) figures[side].push(...(await scenarioFigures(scenario, contender)));
          }
      } finally {
        for (const contender of contenders) await contender.stop();
        await upstream.child.stop();
      }
      return figures;
    },
  };
}

async function scenarioFigures(scenario: Scenario, contender: Contender): Promise<Figure[]> {
  const figures = await figuresOf(scenario, contender);
  const memory = lower('MB resident after it', contender.bytes().filter / 1e6);
  return [...figures, memory].map((figure) => ({ ...figure, name: `${scenario.name}: ${figure.name}` }));
}

function lower(name: string, value: number): Figure {
  return { name, value, better: 'lower' };
}
