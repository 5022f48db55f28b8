/**
 * The inspector's page as the browser loads it: `node scripts/build-inspector.ts FOLDER` writes it there. In the clone the
 * service calls `buildInspector` itself, so that there is nothing to build first.
 */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { build, type Metafile, stop } from 'esbuild';

const source = join(import.meta.dirname, '../src/tools/inspect/page');

/** The page's files by name. Rejects when its sources have errors. */
export async function buildInspector(): Promise<Map<string, Buffer>> {
  return (await bundle()).files;
}

/** Writes the page into `folder`, which is created anew; resolves with the packages in it, whose licences must be named. */
export async function writeInspector(folder: string): Promise<Metafile> {
  const { files, metafile } = await bundle();
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const [name, body] of files) writeFileSync(join(folder, name), body);
  return metafile;
}

async function bundle(): Promise<{ readonly files: Map<string, Buffer>; readonly metafile: Metafile }> {
  const { outputFiles, metafile } = await build({
    absWorkingDir: join(import.meta.dirname, '..'),
    entryPoints: { page: join(source, 'start-page.tsx') },
    bundle: true,
    write: false,
    metafile: true,
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
  // Otherwise its process lives as long as this one.
  await stop();
  const files = new Map<string, Buffer>();
  for (const { path, contents } of outputFiles) files.set(path.split(/[\\/]/).at(-1) ?? '', Buffer.from(contents));
  for (const name of ['index.html', 'icon.svg']) files.set(name, readFileSync(join(source, name)));
  return { files, metafile };
}

if (import.meta.main) {
  const [, , folder] = process.argv;
  if (folder === undefined) throw new Error('Usage: node scripts/build-inspector.ts FOLDER');
  await writeInspector(resolve(folder));
}
