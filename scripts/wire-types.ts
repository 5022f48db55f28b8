/**
 * Writes the TypeScript types of the ext_proc messages from `proto/` with proto-loader's own generator, into
 * `src/extproc/generated` or the folder that is named. Run it after a change in `proto/`; a test holds that it was.
 */
import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../', import.meta.url));
const outDir = process.argv[2] ?? 'src/extproc/generated';

// The options of `loadSync` in `src/extproc/messages.ts`, which decide the shape of the values.
const shape = ['--keepCase', '--longs=Number', '--enums=String'];
const imports = ['--targetFileExtension=.ts', '--importFileExtension=.ts'];
// Relative, because the generated files name the file they were made from.
const files = ['--includeDirs=proto', `--outDir=${outDir}`, '--', 'envoy/service/ext_proc/v3/external_processor.proto'];

rmSync(new URL(outDir, new URL('../', import.meta.url)), { recursive: true, force: true });
execFileSync(`${root}node_modules/.bin/proto-loader-gen-types`, [...shape, ...imports, ...files], {
  cwd: root,
  stdio: ['ignore', 'ignore', 'pipe'],
});
