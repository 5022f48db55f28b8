/**
 * Measures families of inputs, and prints a JSON line for each: `measure.ts work` counts what they cost at two sizes, `measure.ts
 * pairs` that of every two things of a request together, `measure.ts held` what is kept of the larger size and more. A third argument is a part of the names of those that are wanted.
 */
import type { Family, Outcome } from './family.ts';
import { entered, usedBytes, type Work, workOf } from './meter.ts';

/** What is printed of a family. */
export interface MeasuredWork {
  readonly door: string;
  readonly name: string;
  /** How much more the larger input costs for each of its bytes: steps, and bytes allocated. */
  readonly steps: number;
  readonly allocated: number;
  /** Bytes sent for each byte that came in. */
  readonly sent: number;
  /** How the larger input is refused. */
  readonly refused: string | null;
  /** The functions whose own steps grow the most: a square among much that is linear. */
  readonly steepest: readonly { readonly where: string; readonly few: number; readonly many: number; growth: number }[];
}

/** What is printed last of all: the functions of `src/` that ran, as `file:name`. */
export interface Entered {
  readonly entered: readonly string[];
}

export interface MeasuredHold {
  readonly door: string;
  readonly name: string;
  readonly held: number;
  readonly counted: number;
}

const [what = 'work', wanted = ''] = process.argv.slice(2);

/** The larger input has eight times as many things. */
const ratio = 8;
/** Of pairs more: what is read in another way beyond some size is beyond it in both. */
const defaultSize = what === 'pairs' ? 256 : 32;
/** Below that, what an engine allocates for its own sake is seen. */
const leastAllocated = 128 * 1024;

/** Fewer are no sign of what more would be: a function may run once for so many bytes. */
const leastSteps = 250;
/** Part of all steps below which a function does not matter at any size that is accepted. */
const leastShare = 1 / 25;

function steepestOf([one, few, many]: readonly [Work, Work, Work], bytes: number): MeasuredWork['steepest'] {
  return [...many.by]
    .flatMap(([where, count]) => {
      const [at1 = 0, atFew = 0] = [one.by.get(where), few.by.get(where)];
      if (count < leastShare * many.steps || atFew - at1 < leastSteps) return [];
      const growth = (count - at1) / (atFew - at1) / bytes;
      return [{ where, few: Math.round(atFew), many: Math.round(count), growth }];
    })
    .toSorted((less, more) => more.growth - less.growth)
    .slice(0, 3);
}

/** What it keeps; null for what keeps nothing that is counted. */
async function heldBy(run: () => Outcome | Promise<Outcome>): Promise<Pick<MeasuredHold, 'held' | 'counted'> | null> {
  // Compiled, with all that is made once: by a call of its own, so that nobody refers to it below.
  const first = await countedBy(run);
  if (first === null) return null;
  const before = await usedBytes();
  const { counted, kept } = await run();
  const held = (await usedBytes()) - before;
  return { held: kept === undefined ? 0 : held, counted: counted ?? 0 };
}

async function countedBy(run: () => Outcome | Promise<Outcome>): Promise<number | null> {
  const { counted } = await run();
  return counted;
}

async function findFamilies(): Promise<readonly Family[]> {
  if (what === 'pairs') return (await import('./requests.ts')).pairs;
  const { families } = await import('./families.ts');
  return what === 'held' ? [...families, ...(await import('./places.ts')).longTexts] : families;
}

const families = await findFamilies();
for (const { door, name, make, size = defaultSize } of families.filter((family) => family.name.includes(wanted))) {
  if (what === 'held') {
    const measured = await heldBy(() => make(4 * ratio * size, false).run());
    if (measured !== null) console.log(JSON.stringify({ door, name, ...measured } satisfies MeasuredHold));
    continue;
  }
  const runs = [make(1), make(size), make(ratio * size)] as const;
  // Compiled, and with all that is made once.
  let { sent, refused } = await runs[0].run();
  await runs[1].run();
  const works: Work[] = [];
  for (const { run } of runs) works.push(await workOf(async () => ({ sent, refused } = await run())));
  const [one, few, many] = works as [Work, Work, Work];
  const bytes = (runs[2].bytes - runs[0].bytes) / (runs[1].bytes - runs[0].bytes);
  const measured: MeasuredWork = {
    ...{ door, name, refused },
    steps: (many.steps - one.steps) / Math.max(few.steps - one.steps, leastSteps) / bytes,
    allocated: (many.allocated - one.allocated) / Math.max(few.allocated - one.allocated, leastAllocated) / bytes,
    sent: sent / runs[2].bytes,
    steepest: steepestOf([one, few, many], bytes),
  };
  console.log(JSON.stringify(measured));
}
if (what === 'work') console.log(JSON.stringify({ entered: [...entered] } satisfies Entered));
