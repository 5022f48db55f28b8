const sizeRatio = 32;

/** Quadratic work has 1024. Linear work has 32, and up to 200 where the larger run collects garbage and leaves the caches. */
export const maxLinearGrowth = 400;

/** Microseconds; below that, mostly the call and the clock are measured. */
const minBaseMicroseconds = 100;

/**
 * How much more CPU time a run takes at 32 times the size. A ratio of CPU times does not depend on how fast or how busy the
 * machine is, as a limit in seconds would.
 *
 * @param size of the smaller run.
 * @param prepare builds the input of a size, which is not measured, and returns the run, which is.
 * @param most below which it need not be measured again.
 */
export function growthOf(size: number, prepare: (size: number) => () => void, most = maxLinearGrowth): number {
  const small = prepare(size);
  // V8 still compiles during the first runs.
  const base = Math.max(minBaseMicroseconds, Math.min(...Array.from({ length: 10 }, () => cpuTimeOf(small))));
  let growth = Number.POSITIVE_INFINITY;
  for (let attempt = 0; attempt < 3 && growth > most; attempt += 1)
    growth = Math.min(growth, cpuTimeOf(prepare(sizeRatio * size)) / base);
  return growth;
}

/** Microseconds of the whole process: the kernel counts those of one thread in milliseconds. */
function cpuTimeOf(work: () => void): number {
  const start = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(start);
  return user + system;
}
