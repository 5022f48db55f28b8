import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);

/** The reader of an operator's file of profiles, loaded when it is first asked for: YAML, and a schema of every flag. */
export function profilesFile(): typeof import('./profiles-file.ts') {
  return require('./profiles-file.ts');
}
