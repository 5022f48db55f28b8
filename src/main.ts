import module from 'node:module';
import { fileURLToPath } from 'node:url';
import { nodeTooOld } from './service/program/node-version.ts';

// Everything else is imported after the check: an old Node would fail on the first import that it lacks.
const tooOld = nodeTooOld(process.versions.node);
if (tooOld !== null) {
  process.stderr.write(`${tooOld}\n`);
  process.exit(1);
}
// What Node made of the sources at an earlier start. The build has `bundle-main.ts` in place of this file.
module.enableCompileCache(fileURLToPath(new URL('../.cache/compile', import.meta.url)));
void import('./service/program/program.ts');
