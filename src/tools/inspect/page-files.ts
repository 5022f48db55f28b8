import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** A file of the page, by its path. */
export interface PageFile {
  readonly contentType: string;
  readonly body: Buffer;
}

const names: Readonly<Record<string, { readonly path: string; readonly contentType: string }>> = {
  'index.html': { path: '/inspect/', contentType: 'text/html; charset=utf-8' },
  'page.js': { path: '/inspect/page.js', contentType: 'text/javascript; charset=utf-8' },
  'page.css': { path: '/inspect/page.css', contentType: 'text/css; charset=utf-8' },
  'icon.svg': { path: '/inspect/icon.svg', contentType: 'image/svg+xml' },
};

/**
 * The page's files by path: run from source, they are built now; the bundled service has them next to it. Rejects if one
 * is missing or does not compile.
 */
export async function loadPage(): Promise<ReadonlyMap<string, PageFile>> {
  const contents = import.meta.filename.endsWith('.ts') ? await buildFiles() : builtFiles();
  const files = new Map<string, PageFile>();
  for (const [name, { path, contentType }] of Object.entries(names)) {
    const body = contents.get(name);
    if (body === undefined) throw new Error(`The inspector's page lacks ${name}.`);
    files.set(path, { contentType, body });
  }
  return files;
}

function builtFiles(): Map<string, Buffer> {
  const folder = join(dirname(import.meta.filename), 'inspect');
  return new Map(Object.keys(names).map((name) => [name, readFileSync(join(folder, name))]));
}

async function buildFiles(): Promise<Map<string, Buffer>> {
  const builder = new URL('../../../scripts/build-inspector.ts', import.meta.url);
  const { buildInspector }: { buildInspector(): Promise<Map<string, Buffer>> } = await import(builder.href);
  return buildInspector();
}
