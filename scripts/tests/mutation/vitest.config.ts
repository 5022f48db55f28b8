import { join } from 'node:path';
import { defineConfig } from 'vitest/config';

/** `run.ts` as the only test, in a process of its own that loads sources and tests as Node does. */
export default defineConfig({
  test: {
    root: join(import.meta.dirname, '../../..'),
    include: ['scripts/tests/mutation/run.ts'],
    pool: 'forks',
    isolate: false,
    maxWorkers: 1,
    expect: { poll: { timeout: 60_000 } },
    experimental: { viteModuleRunner: false, nodeLoader: false },
  },
});
