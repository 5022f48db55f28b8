/**
 * Runs in vitest, for its `expect`, in the copy of the tree: loads the tests once, sees what each reaches, and then runs under each
 * mutant the units that come to it, until one fails. Or, for mutants that are in the sources from the start (`numbers` is
 * null): the test files one after the other until a unit fails. What it finds is a line of JSON each in the file `out`.
 */
import childProcess, { type SpawnOptions } from 'node:child_process';
import { appendFileSync, readFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import fc from 'fast-check';
import { test } from 'vitest';
import { finishTest, scopesOf, type Unit, unitsOf } from './collect.ts';
import type { Line, Task } from './task.ts';

/** Some tests of a unit that are run together: those that cost most are alone, so that they are run last. */
interface Entry {
  readonly unit: Unit;
  readonly takes: ReadonlySet<number>;
  readonly ms: number;
  readonly turns: number;
  readonly reached: readonly number[];
  kills: number;
}

const expensiveMs = 15;
/** How long a test may wait for what never happens: without a mistake, and with one beside twenty times what it took without. */
const [patienceMs, leastPatienceMs] = [60_000, 5_000];
let patience = patienceMs;
const enough = 1e15;
const { setTimeout: startTimer, clearTimeout: stopTimer } = globalThis;
globalThis.mutationSwitches = { chosen: 0, reached: new Uint8Array(0), turns: enough };

test('all mutants are tried', { timeout: 1e9 }, async () => {
  process.chdir(process.env['MUTATION_TREE'] ?? '');
  // In a process of its own all switches would be off: the unit is left to the tests that start processes.
  const { spawn } = childProcess;
  childProcess.spawn = ((command: string, ...rest: [readonly string[], SpawnOptions]) => {
    if (command === process.execPath) throw new Error('It starts a process.');
    return spawn(command, ...rest);
  }) as typeof spawn;
  syncBuiltinESMExports();
  const task = JSON.parse(readFileSync(process.env['MUTATION_TASK'] ?? '', 'utf8')) as Task;
  const say = (line: Line) => appendFileSync(task.out, `${JSON.stringify(line)}\n`);
  fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: 1 });
  mutationSwitches.reached = new Uint8Array(task.last + 1);
  if (task.numbers === null) say({ type: 'end', ...(await firstFailure(task)) });
  else {
    const entries: Entry[] = [];
    const unsure = new Set<number>();
    for (const file of task.tests) {
      mutationSwitches.reached.fill(0);
      const loaded = await load(file);
      for (const [number, reached] of mutationSwitches.reached.entries()) if (reached === 1) unsure.add(number);
      if (typeof loaded === 'string') say({ type: 'unusable', unit: file, killedBy: loaded });
      else
        for (const unit of loaded) {
          const found = await entriesOf(unit);
          if (typeof found === 'string') say({ type: 'unusable', unit: unit.name, killedBy: found });
          else entries.push(...found);
        }
    }
    for (const number of task.numbers) {
      say({ type: 'tries', number });
      const killedBy = await killerOf(number, entries, unsure);
      say({ type: 'tried', number, killedBy: killedBy ?? (unsure.has(number) ? undefined : killedBy) });
    }
    say({ type: 'end', unit: null });
  }
});

async function firstFailure({ tests, without }: Task) {
  for (const file of tests.filter((one) => !without.includes(one))) {
    const loaded = await load(file);
    if (typeof loaded === 'string') return { unit: file, killedBy: loaded };
    for (const unit of loaded.filter(({ name }) => !without.includes(name))) {
      mutationSwitches.turns = 1e8;
      const killedBy = await run(unit, () => true);
      if (killedBy !== null) return { unit: unit.name, killedBy };
    }
  }
  return { unit: null };
}

/** Its units, or why it cannot be loaded. */
async function load(file: string): Promise<readonly Unit[] | string> {
  try {
    return await unitsOf(file, () => import(pathToFileURL(join(process.cwd(), file)).href));
  } catch (error) {
    return messageOf(error);
  }
}

/** Runs it without a mistake; gives why that fails, if it does. */
async function entriesOf(unit: Unit): Promise<Entry[] | string> {
  const runs: { index: number; ms: number; turns: number; reached: Uint8Array }[] = [];
  let common: Uint8Array | null = null;
  let begun = enough;
  mutationSwitches.turns = enough;
  mutationSwitches.reached.fill(0);
  const problem = await run(
    unit,
    () => {
      common ??= mutationSwitches.reached.slice();
      mutationSwitches.reached.fill(0);
      begun = mutationSwitches.turns;
      return true;
    },
    (index, ms) =>
      runs.push({ index, ms, turns: begun - mutationSwitches.turns, reached: mutationSwitches.reached.slice() }),
  );
  if (problem !== null) return problem;
  const shared = enough - mutationSwitches.turns - runs.reduce((sum, { turns }) => sum + turns, 0);
  const together = (some: typeof runs): Entry => ({
    unit,
    takes: new Set(some.map(({ index }) => index)),
    ms: some.reduce((sum, { ms }) => sum + ms, 0.2),
    turns: some.reduce((sum, { turns }) => sum + turns, shared),
    reached: [...mutationSwitches.reached.keys()].filter((number) =>
      [common, ...some.map(({ reached }) => reached)].some((one) => one?.[number] === 1),
    ),
    kills: 0,
  });
  const cheap = runs.filter(({ ms }) => ms <= expensiveMs);
  const alone = runs.filter(({ ms }) => ms > expensiveMs).map((one) => together([one]));
  return cheap.length === 0 ? alone : [together(cheap), ...alone];
}

/** The test that sees it, null for none, undefined if that is not sure. First those that reach little else, have seen much, and cost little. */
async function killerOf(number: number, entries: Entry[], unsure: Set<number>): Promise<string | null | undefined> {
  const worth = ({ reached, kills, ms }: Entry) => (1 / reached.length + kills / 20 + 0.01) / (ms + 1);
  const all = entries.filter(({ reached }) => reached.includes(number)).sort((a, b) => worth(b) - worth(a));
  for (const entry of all) {
    mutationSwitches.chosen = number;
    mutationSwitches.turns = entry.turns * 10 + 200_000;
    patience = Math.min(leastPatienceMs + 20 * entry.ms, patienceMs);
    const problem = await run(entry.unit, (test) => entry.takes.has(test));
    patience = patienceMs;
    mutationSwitches.chosen = 0;
    mutationSwitches.turns = enough;
    if (problem === null) continue;
    entry.kills += 1;
    // The mutant may have spoiled the test for all that come after it, or the test may run but once.
    if ((await run(entry.unit, (test) => entry.takes.has(test))) !== null) {
      entries.splice(entries.indexOf(entry), 1);
      for (const other of entry.reached) unsure.add(other);
      return undefined;
    }
    return `${entry.unit.name}: ${problem}`;
  }
  return null;
}

/** The first problem, or null; `ended` is told the milliseconds of each test. */
async function run(
  unit: Unit,
  takes: (index: number) => boolean,
  ended: (index: number, ms: number) => void = () => {},
): Promise<string | null> {
  try {
    const { tests, scope } = unit.again();
    const scopes = scopesOf(scope);
    const inwards = async (hook: 'beforeAll' | 'beforeEach') => {
      for (const one of scopes) for (const before of one[hook]) await inTime(before());
    };
    const outwards = async (hook: 'afterAll' | 'afterEach') => {
      for (const one of scopes.toReversed()) for (const after of one[hook]) await inTime(after());
    };
    await inwards('beforeAll');
    try {
      for (const [index, one] of tests.entries()) {
        if (!takes(index)) continue;
        const from = performance.now();
        await inwards('beforeEach');
        try {
          await inTime(one.run());
        } finally {
          await outwards('afterEach');
          await inTime(finishTest());
        }
        ended(index, performance.now() - from);
      }
    } finally {
      await outwards('afterAll');
    }
    return null;
  } catch (error) {
    return messageOf(error);
  }
}

function inTime(result: unknown): unknown {
  if (!(result instanceof Promise)) return result;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise((_resolve, reject) => {
    timer = startTimer(() => reject(new Error('nothing happens any more')), patience);
  });
  return Promise.race([result, late]).finally(() => stopTimer(timer));
}

function messageOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.split('\n', 1)[0]?.slice(0, 200) ?? '';
}
