/**
 * A process in the copy of the tree, which on each request runs test files one after the other, until one fails.
 * It keeps vitest; each file has a new thread, so that the mutated source is loaded.
 */
import { join } from 'node:path';
import { createVitest } from 'vitest/node';

/** What the parent sends: run these files. */
export interface Task {
  readonly files: readonly string[];
  /** The folder into which each file records what it executes; null for none. */
  readonly recordInto: string | null;
}

/** What the parent receives: which file begins, and at the end the first that failed. */
export type Progress =
  | { readonly type: 'ready' }
  | { readonly type: 'file'; readonly file: string; readonly ms: number; readonly failed: boolean }
  | {
      readonly type: 'done';
      readonly killedBy: string | null;
      readonly test: string | null;
      /** A test failed, rather than the file or something outside of all tests. */
      readonly inTest: boolean;
    };

const tree = process.cwd();
const send = (progress: Progress) => process.send?.(progress);
const vitest = await createVitest(
  'test',
  {
    config: false,
    root: tree,
    watch: false,
    reporters: [{}],
    bail: 1,
    pool: 'threads',
    isolate: true,
    maxWorkers: 1,
    fileParallelism: false,
    include: ['test/{unit,golden,fuzz}/**/*.test.ts'],
    setupFiles: [
      'scripts/mutation/record-coverage.ts',
      'test/support/no-empty-tables.ts',
      'test/support/random-seed.ts',
    ].map((path) => join(tree, path)),
    testTimeout: 60_000,
    expect: { requireAssertions: true },
    experimental: { viteModuleRunner: false, nodeLoader: false },
    env: { FAST_CHECK_SEED: '1', NODE_COMPILE_CACHE: join(tree, '.cache/node-compile-cache') },
  },
  { clearScreen: false },
);
await vitest.standalone();

process.on('message', async ({ files, recordInto }: Task) => {
  // Threads get a copy of it when they start.
  if (recordInto === null) delete process.env['MUTATION_COVERAGE'];
  else process.env['MUTATION_COVERAGE'] = recordInto;
  for (const file of files) {
    const startedAt = performance.now();
    const [failure, ran, inTest = false] = await run(file);
    send({ type: 'file', file, ms: performance.now() - startedAt, failed: failure !== null || !ran });
    if (failure !== null || !ran) {
      send({ type: 'done', killedBy: file, test: failure, inTest });
      return;
    }
  }
  send({ type: 'done', killedBy: null, test: null, inTest: false });
});
process.on('disconnect', () => process.exit());
send({ type: 'ready' });

/** The first test of a file that failed, and whether any ran: a file that cannot be loaded fails too. */
async function run(file: string): Promise<[failure: string | null, ran: boolean, inTest?: boolean]> {
  const path = join(tree, file);
  const specification = vitest.getRootProject().createSpecification(path);
  vitest.state.clearErrors();
  const { testModules, unhandledErrors } = await vitest.runTestSpecifications([specification]);
  let ran = false;
  // It includes those of earlier runs.
  for (const module of testModules.filter(({ moduleId }) => moduleId === path)) {
    for (const test of module.children.allTests()) {
      const { state } = test.result();
      if (state === 'failed') return [test.fullName, true, true];
      if (state === 'passed') ran = true;
    }
    if (module.state() === 'failed') return ['(the file could not be loaded)', true];
  }
  const [outside] = unhandledErrors as readonly Error[];
  return [outside === undefined ? null : `(an error outside of the tests: ${outside.message})`, ran];
}
