/**
 * Stands in for `vitest` in the tests' copy: collects the tests, so that they are loaded once and run many times. A unit is a
 * test outside of any `describe`, or the tests of one `describe`, whose body is run anew each time, since much is computed there.
 */
import { expect, inject, vi } from 'vitest';

type Run = (...args: unknown[]) => unknown;
type HookName = 'beforeAll' | 'afterAll' | 'beforeEach' | 'afterEach';

interface Scope extends Readonly<Record<HookName, Run[]>> {
  readonly name: string;
  readonly outer: Scope | null;
}

/** One test, ready to run. */
export interface Test {
  readonly name: string;
  readonly run: () => unknown;
}

/** What is run together. */
export interface Unit {
  readonly name: string;
  /** Runs the body of its `describe` again. */
  again(): { readonly tests: readonly Test[]; readonly scope: Scope };
}

let scope = scopeIn(null, '');
let units: Unit[] = [];
/** The tests directly in the `describe` that is being read; null outside of any. */
let found: Test[] | null = null;
let isAgain = false;
/** What is to be done when the test that runs has finished. */
const cleanups: Run[] = [];

/** The units of a test file, which `load` imports. */
export async function unitsOf(file: string, load: () => Promise<unknown>): Promise<readonly Unit[]> {
  scope = scopeIn(null, file);
  units = [];
  await load();
  return units;
}

/** All scopes of a unit, the outermost first. */
export function scopesOf(inner: Scope): readonly Scope[] {
  return inner.outer === null ? [inner] : [...scopesOf(inner.outer), inner];
}

function scopeIn(outer: Scope | null, name: string): Scope {
  return { name, outer, beforeAll: [], afterAll: [], beforeEach: [], afterEach: [] };
}

function addTest(name: string, run: () => unknown): void {
  if (found !== null) found.push({ name, run });
  else {
    const own = { tests: [{ name, run }], scope };
    units.push({ name: `${scope.name} › ${name}`, again: () => own });
  }
}

function addGroup(name: string, body: () => void): void {
  if (isAgain) return;
  const outer = { scope, found };
  const inner = `${scope.name} › ${name}`;
  [scope, found] = [scopeIn(outer.scope, inner), []];
  body();
  const hasTests = found.length > 0;
  ({ scope, found } = outer);
  if (!hasTests) return;
  units.push({
    name: inner,
    again() {
      const own = scopeIn(outer.scope, inner);
      [scope, found, isAgain] = [own, [], true];
      try {
        body();
        return { tests: found, scope: own };
      } finally {
        [scope, found, isAgain] = [outer.scope, null, false];
      }
    },
  });
}

type Add = (name: string, run: () => unknown) => void;
type Table = readonly unknown[];
type Named = (name: unknown, options: unknown, run?: unknown) => void;

/** `it` or `describe`, with what vitest has on it. */
function collector(add: Add) {
  const named =
    (call: (run: Run) => () => unknown): Named =>
    (name, options, run = options) =>
      add(String(name), call(run as Run));
  const each = (call: (run: Run, row: unknown, isList: boolean) => () => unknown) => (table: Table) => {
    const isList = table.every((row) => Array.isArray(row));
    return (name: unknown, options: unknown, run = options) => {
      for (const [index, row] of table.entries()) add(`${name} [${index}]`, call(run as Run, row, isList));
    };
  };
  const one = named((run) => () => run({ expect }));
  const none: Named = () => {};
  return Object.assign(one, {
    each: each((run, row, isList) => () => (isList ? run(...(row as Table)) : run(row))),
    for: each((run, row) => () => run(row, { expect })),
    concurrent: one,
    sequential: one,
    skip: none,
    skipIf: (condition: unknown) => (condition ? none : one),
    runIf: (condition: unknown) => (condition ? one : none),
  });
}

export const it = collector(addTest);
export const test = collector(addTest);
export const describe = collector(addGroup as Add);

const hook = (name: HookName) => (run: Run) => void scope[name].push(run);
export const beforeAll = hook('beforeAll');
export const afterAll = hook('afterAll');
export const beforeEach = hook('beforeEach');
export const afterEach = hook('afterEach');

export function onTestFinished(run: Run): void {
  cleanups.push(run);
}

/** Does what the test that has ended left to be done, the last first. */
export async function finishTest(): Promise<void> {
  for (const run of cleanups.splice(0).reverse()) await run();
}

export { expect, inject, vi };
