import { dirname, join } from 'node:path';
import { inject } from 'vitest';

const sources = join(import.meta.dirname, '../../src/main.ts');
// Scripts start the service too, and no vitest has built one for them.
const built = process.env['VITEST'] === undefined ? undefined : inject('builtService');

/** How tests start the service as a process: `node main`, under this environment too. */
export interface ServiceMain {
  readonly main: string;
  readonly environment: Readonly<Record<string, string>>;
}

/** The service from its sources. */
export const serviceFromSources: ServiceMain = { main: sources, environment: {} };

/** The service as `build-service.ts` built it for this run; from its sources in projects without that, and in scripts. */
export const serviceMain: ServiceMain =
  built === undefined
    ? serviceFromSources
    : // Its files are new in each run: compiled, they would pile up where those of the sources are.
      { main: built, environment: { NODE_COMPILE_CACHE: join(dirname(built), 'compile-cache') } };
