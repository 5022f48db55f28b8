/**
 * Measures CPU for each byte of each family, at a size that takes long enough against an eighth of it, and prints a JSON line for each.
 * A count does not see what regular expressions, Sets and a search of V8 do within one call; this does, and takes seconds.
 */
import process from 'node:process';
import { families } from './families.ts';
import type { Family, Run } from './family.ts';
import { places } from './places.ts';

/** What is printed of a family. */
export interface MeasuredCpu {
  readonly name: string;
  readonly size: number;
  readonly milliseconds: number;
  /** How much more the larger input costs for each of its bytes. Linear: 1 to 2. A square: 8. */
  readonly growth: number;
}

const ratio = 8;
/** Until the larger run takes so many microseconds, from which on the clock and the garbage of others are small, or has so many bytes. */
const limits = { enough: 60_000, mostBytes: 4 * 1024 * 1024 };
/** Chunks that become one byte each fill the heap of this process before that. */
const mostThings = 512 * 1024;
/** Of texts of every beginning in every place there are hundreds. */
const limitsOfPlaces = { enough: 20_000, mostBytes: 256 * 1024 };
/** Microseconds that are mostly the call and the clock, and those of a byte that is copied: where memory is cold, it takes several times as long. */
const shortest = 100;
const copied = 0.001;
/** Compared again from here on. */
const suspicious = 2.5;

async function cpuOf({ run }: Run): Promise<number> {
  const before = process.cpuUsage();
  await run();
  const { user, system } = process.cpuUsage(before);
  return user + system;
}

/** In turns, and the least of each: a busy moment is not in both. */
async function compare(small: Run, large: Run): Promise<Pick<MeasuredCpu, 'milliseconds' | 'growth'>> {
  let [least, most, growth] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (let attempt = 0; attempt < 6 && growth > suspicious; attempt += 1) {
    for (let again = 0; again < ratio / 2; again += 1) least = Math.min(least, await cpuOf(small));
    most = Math.min(most, await cpuOf(large));
    growth = most / large.bytes / (Math.max(least, shortest, copied * small.bytes) / small.bytes);
  }
  return { milliseconds: most / 1000, growth };
}

async function measure({ name, make, size: start = 32 }: Family, { enough, mostBytes } = limits): Promise<MeasuredCpu> {
  const none = make(1).bytes;
  let size = start;
  let large = make(size);
  /** A family whose texts have a most comes to an end. */
  const grow = async (times: number) => {
    const larger = make(times * size);
    if (size >= mostThings || larger.bytes - none < 1.5 * (large.bytes - none)) return false;
    size *= times;
    large = larger;
    await large.run();
    return true;
  };
  // The first runs are compiled.
  let most = await cpuOf(large);
  for (most = await cpuOf(large); most < enough && large.bytes < mostBytes; most = await cpuOf(large))
    if (!(await grow(most * ratio < enough ? 4 : 2))) break;
  let measured = await compare(make(Math.ceil(size / ratio)), large);
  // Beside more work, what other processes do weighs less, and a square more.
  for (let again = 0; again < 2 && measured.growth > suspicious && (await grow(4)); again += 1)
    measured = await compare(make(Math.ceil(size / ratio)), large);
  return { name, size, ...measured };
}

const [wanted = ''] = process.argv.slice(2);
for (const family of [...families, ...places])
  if (family.name.includes(wanted))
    console.log(JSON.stringify(await measure(family, places.includes(family) ? limitsOfPlaces : limits)));
