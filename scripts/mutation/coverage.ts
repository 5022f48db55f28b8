/** What each test file executes of the sources, as V8 counts it: a mutant is tried on those alone that come to its place. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** For each source: its ranges, nested, in UTF-16 units of its text, executed or not. */
export type CoveredSources = Readonly<
  Record<string, readonly (readonly [start: number, end: number, isExecuted: boolean])[]>
>;

/** Of the recorded test files: whether one executes that place of a source. True for one that was not recorded. */
export function readCoverage(from: string): (test: string, file: string, offset: number) => boolean {
  const recorded = new Map(
    readdirSync(from).map((name) => JSON.parse(readFileSync(join(from, name), 'utf8')) as [string, CoveredSources]),
  );
  return (test, file, offset) => {
    const sources = recorded.get(test);
    if (sources === undefined) return true;
    const around = (sources[file] ?? []).filter(([start, end]) => start <= offset && offset < end);
    // The smallest is the block that the place is in.
    const [, , isExecuted] = around.toSorted((one, other) => one[1] - one[0] - (other[1] - other[0]))[0] ?? [
      0,
      0,
      false,
    ];
    return isExecuted;
  };
}
