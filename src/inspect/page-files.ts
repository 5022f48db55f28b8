import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A file of the page, by its path. */
export interface PageFile {
  readonly contentType: string;
  readonly body: Buffer;
}

/** What makes the page of its sources; only the clone has it. */
const builder = new URL('../../scripts/build-inspector.ts', import.meta.url);

const names: Readonly<Record<string, { readonly path: string; readonly contentType: string }>> = {
  'index.html': { path: '/inspect/', contentType: 'text/html; charset=utf-8' },
  'page.js': { path: '/inspect/page.js', contentType: 'text/javascript; charset=utf-8' },
  'page.css': { path: '/inspect/page.css', contentType: 'text/css; charset=utf-8' },
  'icon.svg': { path: '/inspect/icon.svg', contentType: 'image/svg+xml' },
};

/**
 * The page's files by path: built, beside the compiled service; in the clone they are built now. Rejects where neither is
 * possible.
 */
export async function loadPage(): Promise<ReadonlyMap<string, PageFile>> {
  const contents = builtFiles() ?? (await buildFiles());
  const files = new Map<string, PageFile>();
  for (const [name, { path, contentType }] of Object.entries(names)) {
    const body = contents.get(name);
    if (body === undefined) throw new Error(`The inspector's page lacks ${name}.`);
    files.set(path, { contentType, body });
  }
  return files;
}

function builtFiles(): Map<string, Buffer> | null {
  // Beside this file, or beside the one that it was bundled into.
  for (const folder of [join(import.meta.dirname, 'built-page'), join(import.meta.dirname, 'inspect/built-page')])
    if (existsSync(folder)) return new Map(Object.keys(names).map((name) => [name, readFileSync(join(folder, name))]));
  return null;
}

async function buildFiles(): Promise<Map<string, Buffer>> {
  if (!existsSync(builder)) throw new Error('The inspector’s page is missing: it was not built into this package.');
  const { buildInspector }: { buildInspector(): Promise<Map<string, Buffer>> } = await import(builder.href);
  return buildInspector();
}
