/** The TypeScript types of the ext_proc messages in `proto/`, made with proto-loader's own generator. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Generator } from './generator.ts';

const root = join(import.meta.dirname, '../..');

// The options of `loadSync` in `test/support/proto-definitions.ts`, which decide the shape of the values.
const shape = ['--keepCase', '--longs=Number', '--enums=String'];
const imports = ['--targetFileExtension=.ts', '--importFileExtension=.ts'];
// Relative, because the generated files name the file they were made from.
const sources = ['--includeDirs=proto', '--', 'envoy/service/ext_proc/v3/external_processor.proto'];

export const wireTypes: Generator = {
  name: 'types of the ext_proc messages',
  source: 'proto',
  folder: 'test/support/generated',
  files() {
    const folder = mkdtempSync(join(tmpdir(), 'wire-types-'));
    try {
      const program = join(root, 'node_modules/.bin/proto-loader-gen-types');
      const args = [...shape, ...imports, `--outDir=${folder}`, ...sources];
      execFileSync(program, args, { cwd: root, stdio: ['ignore', 'ignore', 'pipe'] });
      const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
      return Object.fromEntries(
        names.map((name) => [`test/support/generated/${name}`, readFileSync(join(folder, name), 'utf8')]),
      );
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
};
