/**
 * The inspector's page as the browser takes it: `node scripts/build-inspector.ts FOLDER` writes it there. In the clone the
 * service calls `buildInspector` itself, so that there is nothing to build first.
 */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { build, stop } from 'esbuild';

const source = join(import.meta.dirname, '../src/inspect/page');

/** The page's files by name. Rejects when its sources have errors. */
export async function buildInspector(): Promise<Map<string, Buffer>> {
  const { outputFiles } = await build({
    entryPoints: { page: join(source, 'main.tsx') },
    bundle: true,
    write: false,
    outdir: source,
    format: 'esm',
    target: 'es2023',
    minify: true,
    legalComments: 'inline',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    tsconfig: join(source, 'tsconfig.json'),
    logLevel: 'silent',
  });
  // Its process would stay for as long as this one.
  await stop();
  const files = new Map(
    outputFiles.map(({ path, contents }) => [path.split(/[\\/]/).at(-1) ?? '', Buffer.from(contents)]),
  );
  for (const name of ['index.html', 'icon.svg']) files.set(name, readFileSync(join(source, name)));
  return files;
}

/** Writes the page into `folder`, which is made anew. */
export async function writeInspector(folder: string): Promise<void> {
  const files = await buildInspector();
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const [name, body] of files) writeFileSync(join(folder, name), body);
}

if (import.meta.main) {
  const [, , folder] = process.argv;
  if (folder === undefined) throw new Error('Usage: node scripts/build-inspector.ts FOLDER');
  await writeInspector(resolve(folder));
}
