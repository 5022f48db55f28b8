import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type ProjectConfig, type TestSpecification } from 'vitest/node';

/** Limits on what hangs, not on speed: a busy machine must not fail a test. */
const limits = { testTimeout: 600_000, hookTimeout: 600_000 };

/** What no suite can do without: each gets it below, whatever it says itself. */
const rules = {
  // A test that finds nothing to check fails, as does one that may fail; a run of the property tests can be had again; what a test has
  // started ends with the run.
  setupFiles: ['no-empty-tables.ts', 'no-excused-tests.ts', 'random-seed.ts', 'children-end.ts'].map((name) =>
    join(import.meta.dirname, 'test/support', name),
  ),
  expect: {
    requireAssertions: true,
    // What is polled happens, or the test fails; the second that is vitest's default is a limit on the machine.
    poll: { timeout: 240_000 },
  },
  allowOnly: false,
  retry: 0,
  // Files share a process: none changes what is global, and reading zod, ajv and the OpenAI SDK anew for each doubled the time.
  isolate: false,
};

/** The processes that tests start read their sources and packages compiled. */
const env = { NODE_COMPILE_CACHE: join(import.meta.dirname, '.cache/node-compile-cache') };

/**
 * Node loads tests and sources itself, as it loads the service's, instead of Vite, whose version of every import and stack
 * trace took a tenth of the CPU time. Nothing here needs what Vite adds: no module is mocked.
 */
const loadedByNode = { experimental: { viteModuleRunner: false, nodeLoader: false } };

/** Files one after the other, when the files of the other projects are done: they measure, or start containers and whole clusters. */
const serial = { fileParallelism: false, sequence: { groupOrder: 1 } };

/** Files that wait for 15 s and more while the cores are free for others: at the end they would wait alone. */
const waiting = /\/(doctor\/terminal|deployment\/rollouts)\.test\.ts$/;

/** The rest in vitest's order: the longest first, and in a fresh clone, where it knows no times, the largest. */
class WaitingFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const [first, rest] = [true, false].map((waits) =>
      files.filter(({ moduleId }) => waiting.test(moduleId) === waits),
    );
    return [...(first ?? []), ...(await super.sort(rest ?? []))];
  }
}

/** One project per kind of thing that is real: nothing, a gRPC client, an Envoy binary, containers. */
const suites: readonly (ProjectConfig & { readonly name: string })[] = [
  {
    ...loadedByNode,
    name: 'unit',
    include: ['test/unit/**/*.test.ts', 'test/golden/**/*.test.ts', 'test/fuzz/**/*.test.ts'],
  },
  // The properties of `unit` again, a minute or all of their runs each: `npm test -- fuzz`.
  {
    ...loadedByNode,
    name: 'fuzz',
    include: ['test/fuzz/**/*.test.ts', 'test/unit/{filter,service}/**/*.test.ts'],
    env: { FUZZ_SECONDS: '60', PROPERTY_RUNS: 'all' },
  },
  {
    ...loadedByNode,
    name: 'grpc',
    include: ['test/grpc/**/*.test.ts'],
    globalSetup: ['test/support/build-service.ts'],
  },
  {
    ...loadedByNode,
    name: 'envoy',
    include: ['test/envoy/**/*.test.ts'],
    globalSetup: ['test/support/build-service.ts', 'test/support/install-envoy.ts'],
  },
  // What a deployment meets, from a first run to floods: `npm test -- deployment`.
  {
    ...loadedByNode,
    name: 'deployment',
    include: ['test/deployment/**/*.test.ts'],
    globalSetup: ['test/support/build-service.ts', 'test/support/install-envoy.ts'],
  },
  // Envoy itself in all its versions and body modes: `npm test -- matrix`.
  {
    name: 'matrix',
    include: ['test/matrix/**/*.test.ts'],
    ...serial,
  },
  // The chart, rendered by Helm and validated: `npm test -- chart`.
  {
    ...loadedByNode,
    name: 'chart',
    include: ['test/chart/**/*.test.ts'],
  },
  // The manifests for Kubernetes, on tools that are built first: `npm test -- kubernetes`.
  {
    ...loadedByNode,
    name: 'kubernetes',
    include: ['test/kubernetes/**/*.test.ts'],
    globalSetup: ['test/support/build-service.ts', 'test/support/install-envoy.ts'],
    hookTimeout: 3_600_000,
    sequence: { groupOrder: 1 }, // when the files of the other projects are done
  },
  // A real Prometheus and promtool over a real scrape: `npm test -- monitoring`.
  {
    name: 'monitoring',
    include: ['test/monitoring/**/*.test.ts'],
    ...serial,
  },
  // The inspector's page in Debian's Chromium: `npm test -- browser`.
  {
    name: 'browser',
    include: ['test/browser/**/*.test.ts'],
    ...serial,
  },
  // Heavy: thousands of streams, gigabytes: `npm test -- faults`.
  {
    name: 'faults',
    include: ['test/faults/**/*.test.ts'],
    globalSetup: ['test/support/install-envoy.ts'],
    ...serial,
  },
  // Containers of every size that docs/operating.md names, under attack: `npm test -- sizing`.
  {
    ...loadedByNode,
    name: 'sizing',
    include: ['test/sizing/**/*.test.ts'],
    globalSetup: ['test/support/build-service.ts'],
    ...serial,
  },
  // Answers that other projects recorded, brought by git: `npm test -- public`.
  {
    ...loadedByNode,
    name: 'public',
    include: ['test/public/**/*.test.ts'],
  },
  // Programs of others, installed by install.ts: `npm test -- clients`.
  {
    name: 'clients',
    include: ['test/clients/**/*.test.ts'],
    globalSetup: ['test/support/install-envoy.ts', 'test/clients/install.ts'],
    ...serial,
  },
  // vLLM's agentic-api before the filter, with a real PostgreSQL: `npm test -- state`.
  {
    name: 'state',
    include: ['test/state/**/*.test.ts'],
    globalSetup: ['test/support/install-envoy.ts'],
    ...serial,
  },
  {
    name: 'docker',
    include: ['test/docker/**/*.test.ts'],
    testTimeout: 300_000,
    hookTimeout: 900_000,
    ...serial,
  },
];

export default defineConfig({
  test: {
    // Two more than there are cores: many tests wait for processes that they started.
    maxWorkers: availableParallelism() + 2,
    sequence: { sequencer: WaitingFirst },
    projects: suites.map((suite) => ({ test: { ...limits, ...suite, ...rules, env: { ...env, ...suite.env } } })),
  },
});
