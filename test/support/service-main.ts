import { dirname, join } from 'node:path';
import { inject } from 'vitest';

const sources = join(import.meta.dirname, '../../src/main.ts');
const built = inject('builtService');

/** How tests start the service as a process: `node main`, under this environment too. */
export interface ServiceMain {
  readonly main: string;
  readonly environment: Readonly<Record<string, string>>;
}

/** The service from its sources. */
export const serviceFromSources: ServiceMain = { main: sources, environment: {} };

/** The service as `build-service.ts` built it for this run; from its sources in projects without that. */
export const serviceMain: ServiceMain =
  built === undefined
    ? serviceFromSources
    : // Its files are new in each run: compiled, they would pile up where those of the sources are.
      { main: built, environment: { NODE_COMPILE_CACHE: join(dirname(built), 'compile-cache') } };
