/**
 * Counts work instead of timing it: how often each block of `src/` runs (V8's precise coverage), how many characters and entries the
 * built-in functions pass over, and how many bytes are allocated, which is what spreads, Sets and Maps cost. A count does not depend
 * on how busy a machine is. Import this before anything of `src/`, in a process of its own: V8 counts the blocks of functions that
 * it compiles from then on, and the built-in functions stay wrapped.
 */
import { Buffer } from 'node:buffer';
import inspector from 'node:inspector';
import process from 'node:process';
import { setImmediate } from 'node:timers/promises';

/** What a run cost. */
export interface Work {
  /** Its steps by function and built-in method. */
  readonly by: ReadonlyMap<string, number>;
  /** Blocks that ran, and characters and entries that built-in functions passed over. */
  readonly steps: number;
  /** Bytes allocated on the heap. */
  readonly allocated: number;
}

interface Coverage {
  readonly result: readonly {
    readonly url: string;
    readonly functions: readonly { readonly functionName: string; readonly ranges: readonly { count: number }[] }[];
  }[];
}

type Method = (this: unknown, ...args: unknown[]) => unknown;

/** Characters and entries that built-in functions passed over, by their names. */
let passedOver = new Map<string, number>();

/** Replaces a built-in method by one that also counts: `cost` is given the receiver, the result and the arguments. */
function count(
  owner: object,
  names: readonly PropertyKey[],
  cost: (target: never, result: never, args: readonly never[]) => number,
) {
  for (const name of names) {
    const { value: own, ...kind } = Object.getOwnPropertyDescriptor(owner, name) as PropertyDescriptor & {
      value: Method;
    };
    const key = `${typeof owner === 'function' ? owner.name : owner.constructor.name}.${String(name)}`;
    const add = (more: number) => passedOver.set(key, (passedOver.get(key) ?? 0) + more);
    const counted: Method = function (...args) {
      let result: unknown;
      try {
        result = own.apply(this, args);
      } catch (error) {
        // A parser has come so far.
        add(Number(/position (\d+)/.exec(String(error))?.[1] ?? String(args[0]).length));
        throw error;
      }
      add(cost(this as never, result as never, args as never[]));
      return result;
    };
    Object.defineProperty(owner, name, { ...kind, value: Object.assign(counted, own) });
  }
}

type Sized = { readonly length: number };
const wholeOf = (target: Sized) => target.length;
/** A search, or a copy of bytes, passes many in the time in which a parser, or a block, has one. */
const fast = 1 / 8;
const copied = (_: unknown, result: Sized) => fast * result.length;
const stripped = (text: Sized, rest: Sized) => text.length - rest.length;
const resultOf = (_: unknown, result: Sized | undefined) => result?.length ?? 0;
const textOf = (_: unknown, __: unknown, [text]: readonly unknown[]) => String(text).length;
/** What a search passes over: up to what it found. */
const untilFound = (target: Sized, at: number, [, from = 0]: readonly number[]) =>
  fast * Math.max(0, (at === -1 ? target.length : at) - from);
const backUntilFound = (target: Sized, at: number, [, from = target.length]: readonly number[]) =>
  fast * Math.max(0, Math.min(from, target.length) - Math.max(at, 0));

count(String.prototype, ['indexOf', 'search'], untilFound);
count(String.prototype, ['lastIndexOf'], backUntilFound);
count(String.prototype, ['startsWith', 'endsWith'], (_, isFound: boolean, [text]: readonly Sized[]) =>
  isFound ? (text?.length ?? 0) : 1,
);
count(String.prototype, ['includes'], (target: Sized) => fast * target.length);
// `slice` of a string is a view, and costs what it is long once it is read.
count(String.prototype, ['replace', 'replaceAll', 'split', 'match', 'toLowerCase', 'normalize'], wholeOf);
count(String.prototype, ['trim', 'trimStart', 'trimEnd'], stripped);
count(String.prototype, ['repeat', 'padEnd', 'padStart'], resultOf);
count(RegExp.prototype, ['exec'], (expression: RegExp, found: RegExpExecArray | null, [text]: readonly string[]) =>
  expression.sticky || found !== null ? (found?.[0].length ?? 0) : String(text).length,
);
count(Array.prototype, ['indexOf'], untilFound);
count(
  Array.prototype,
  ['includes', 'concat', 'splice', 'shift', 'unshift', 'join', 'toSorted', 'sort', 'flat'],
  wholeOf,
);
count(Array.prototype, ['slice', 'toReversed', 'toSpliced'], resultOf);
count(JSON, ['parse'], textOf);
count(JSON, ['stringify'], resultOf);
count(Object, ['keys', 'entries', 'values'], resultOf);
count(Object, ['fromEntries'], (_, result: object) => Reflect.ownKeys(result).length);
count(Object, ['assign'], (_, __, [, ...sources]: readonly object[]) =>
  sources.reduce((sum, source) => sum + Reflect.ownKeys(source ?? {}).length, 0),
);
count(Buffer.prototype, ['indexOf', 'includes'], untilFound);
count(Buffer.prototype, ['lastIndexOf'], backUntilFound);
count(Buffer.prototype, ['toString', 'latin1Slice', 'utf8Slice'], copied);
count(Buffer, ['from', 'concat'], copied);
const typedArray: object = Object.getPrototypeOf(Uint8Array.prototype);
count(typedArray, ['slice'], copied);
count(typedArray, ['set'], (_, __, [bytes]: readonly Sized[]) => fast * (bytes?.length ?? 0));

/**
 * The places of entries that were deleted, by Set or Map: a walk over the others passes them until V8 gives the table half its size, which
 * it does when a quarter of it is used.
 */
const holes = new WeakMap<object, number>();
for (const { prototype } of [Set, Map]) {
  count(prototype, ['delete'], (target: Set<unknown>, isDeleted: boolean) => {
    const left = (holes.get(target) ?? 0) + Number(isDeleted);
    holes.set(target, 3 * target.size < left ? 0 : left);
    return 0;
  });
  const passed = (target: object) => fast * (holes.get(target) ?? 0);
  count(prototype, ['entries', 'keys', 'values', 'forEach', Symbol.iterator], passed);
}

const session = new inspector.Session();
session.connect();
function post(method: string, params: object = {}): unknown {
  let answer: unknown;
  session.post(method, params, (error, result) => {
    if (error !== null) throw error;
    answer = result;
  });
  return answer;
}
post('Profiler.enable');
post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });

/** Every function of `src/` that has run, as `file:name`; what runs at an import too. */
export const entered = new Set<string>();

/** How often blocks ran since the last call, by function. */
function blocksSinceLast(): Map<string, number> {
  const blocks = new Map<string, number>();
  for (const { url, functions } of (post('Profiler.takePreciseCoverage') as Coverage).result) {
    const [, file] = /\/(src\/.*)$/.exec(url) ?? [];
    if (file === undefined) continue;
    for (const { functionName, ranges } of functions) {
      const key = `${file}:${functionName}`;
      const count = ranges.reduce((sum, range) => sum + range.count, 0);
      if (count === 0) continue;
      entered.add(key);
      blocks.set(key, (blocks.get(key) ?? 0) + count);
    }
  }
  return blocks;
}

/** Bytes in use, after all that nobody refers to is gone. */
export async function usedBytes(): Promise<number> {
  if (globalThis.gc === undefined) throw new Error('Run with --expose-gc.');
  for (let round = 0; round < 2; round += 1) {
    globalThis.gc();
    await setImmediate();
  }
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** So much is collected before a run, so that no collection comes within it. */
const garbageBytes = 120 * 1024 * 1024;

/** Runs it, and says what it cost. The young generation has to be large enough for all that it allocates. */
export async function workOf(run: () => unknown): Promise<Work> {
  if (process.memoryUsage().heapUsed > garbageBytes) globalThis.gc?.();
  blocksSinceLast();
  passedOver = new Map();
  const before = process.memoryUsage().heapUsed;
  await run();
  const allocated = process.memoryUsage().heapUsed - before;
  const natives = passedOver;
  const by = new Map([...blocksSinceLast(), ...natives]);
  return { by, allocated, steps: [...by.values()].reduce((sum, count) => sum + count, 0) };
}
