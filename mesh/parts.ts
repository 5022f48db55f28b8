import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Child, startChild } from './child-process.ts';
import type { EnvoyBinary } from './envoy-binary.ts';
import type { EnvoyConfig } from './envoy-config.ts';

const root = join(import.meta.dirname, '..');
/** The service's program file. The npm package has only the bundle, a clone only the sources. */
const program = ['src/main.ts', 'dist/main.js'].map((file) => join(root, file)).find(existsSync) ?? '';

/** The one Envoy configuration that is shipped. */
export const shippedEnvoyConfig = join(root, 'envoy/envoy.yaml');

/** The settings with which the service stops at once, without a drain. */
export const stopAtOnce = { DRAIN_DELAY_MS: '0', DRAIN_TIMEOUT_MS: '1000' } as const;

/** The Node flags that the Dockerfile sets as well. docs/operating.md explains them under “The garbage collector”. */
export const asTheImage = ['--single-threaded-gc', '--max-semi-space-size=16', '--initial-heap-size=96'];

/** Starts the service as in production except for the addresses. `environment` overrides its variables; `main` is its program. */
export function startService(
  environment: Readonly<Record<string, string>>,
  onLine: (line: string) => void,
  main = program,
): Child {
  return startChild('service', process.execPath, [...asTheImage, main], {
    environment: { DRAIN_DELAY_MS: '0', ...process.env, ...environment },
    onLine,
  });
}

export interface EnvoyOptions {
  /** Folder for `envoy.json`, which may contain the upstream's key: readable only by this user. */
  readonly folder: string;
  readonly concurrency: number;
  readonly logLevel: 'error' | 'warn' | 'info' | 'debug';
  readonly onLine: (line: string) => void;
}

/** Starts Envoy on a configuration (JSON is YAML to it). */
export function startEnvoy(binary: EnvoyBinary, config: EnvoyConfig, options: EnvoyOptions): Child {
  const file = join(options.folder, 'envoy.json');
  writeFileSync(file, JSON.stringify(config), { mode: 0o600 });
  return startChild(
    'envoy',
    binary.path,
    // Hot restart shares memory between Envoys of one machine; several run side by side here.
    // Access log lines wait 10 s by default.
    [
      '-c',
      file,
      '--concurrency',
      `${options.concurrency}`,
      '-l',
      options.logLevel,
      '--disable-hot-restart',
      '--file-flush-interval-msec',
      '100',
    ],
    { onLine: options.onLine },
  );
}
