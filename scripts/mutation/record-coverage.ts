/** A setup file of the runner: records what a test file executes into the folder `MUTATION_COVERAGE`, if that is set. */
import { writeFileSync } from 'node:fs';
import { type Profiler, Session } from 'node:inspector';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect } from 'vitest';
import type { CoveredSources } from './coverage.ts';

const folder = process.env['MUTATION_COVERAGE'];
if (folder !== undefined) record(folder);

function record(into: string): void {
  const session = new Session();
  session.connect();
  session.post('Profiler.enable');
  session.post('Profiler.startPreciseCoverage', { callCount: false, detailed: true });
  afterAll(() => {
    const test = relative(process.cwd(), expect.getState().testPath ?? '');
    session.post('Profiler.takePreciseCoverage', (_error, { result }) => {
      writeFileSync(join(into, `${test.replaceAll('/', '.')}.json`), JSON.stringify([test, coveredSources(result)]));
    });
    session.disconnect();
  });
}

function coveredSources(scripts: readonly Profiler.ScriptCoverage[]): CoveredSources {
  const ofSources = scripts.flatMap(({ url, functions }) => {
    const file = url.startsWith('file:') ? relative(process.cwd(), fileURLToPath(url.replace(/\?.*/, ''))) : '';
    if (!file.startsWith('src/')) return [];
    const ranges = functions.flatMap(({ ranges: all }) =>
      all.map(({ startOffset, endOffset, count }) => [startOffset, endOffset, count > 0] as const),
    );
    return [[file, ranges] as const];
  });
  return Object.fromEntries(ofSources);
}
