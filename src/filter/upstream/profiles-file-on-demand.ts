import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);

/** The reader of an operator's file of profiles is loaded when there is a file, since it needs YAML and a schema of every flag. */
export function profilesFile(): typeof import('./profiles-file.ts') {
  return require('./profiles-file.ts');
}
