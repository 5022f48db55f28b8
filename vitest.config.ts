import { defineConfig } from 'vitest/config';

/** One project per kind of thing that is real: nothing, a gRPC client, an Envoy binary, containers. */
export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          include: ['test/unit/**/*.test.ts', 'test/golden/**/*.test.ts', 'test/fuzz/**/*.test.ts'],
          testTimeout: 30_000,
        },
      },
      // The properties of `unit` again, a minute each: `npm run fuzz`.
      { test: { name: 'fuzz', include: ['test/fuzz/**/*.test.ts'], env: { FUZZ_SECONDS: '60' } } },
      { test: { name: 'grpc', include: ['test/grpc/**/*.test.ts'], testTimeout: 30_000 } },
      {
        test: {
          name: 'envoy',
          include: ['test/envoy/**/*.test.ts'],
          testTimeout: 60_000,
          hookTimeout: 120_000,
          fileParallelism: false,
        },
      },
      {
        // Envoy itself in all its versions and body modes: `npm run test:matrix`.
        test: {
          name: 'matrix',
          include: ['test/matrix/**/*.test.ts'],
          testTimeout: 60_000,
          hookTimeout: 300_000,
          fileParallelism: false,
        },
      },
      {
        // Heavy: thousands of streams, gigabytes: `npm run test:faults`.
        test: {
          name: 'faults',
          include: ['test/faults/**/*.test.ts'],
          testTimeout: 600_000,
          hookTimeout: 120_000,
          fileParallelism: false,
        },
      },
      {
        test: {
          name: 'docker',
          include: ['test/docker/**/*.test.ts'],
          testTimeout: 300_000,
          hookTimeout: 900_000,
          fileParallelism: false,
        },
      },
    ],
  },
});
