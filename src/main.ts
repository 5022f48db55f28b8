import module from 'node:module';
import { fileURLToPath } from 'node:url';
import './program/check-node.ts';

// What Node made of the sources at an earlier start. The build has `bundle-main.ts` in place of this file.
module.enableCompileCache(fileURLToPath(new URL('../.cache/compile', import.meta.url)));
void import('./program/program.ts');
