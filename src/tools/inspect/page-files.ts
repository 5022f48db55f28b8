import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const types: Readonly<Record<string, string>> = {
  'index.html': 'text/html; charset=utf-8',
  'page.js': 'text/javascript; charset=utf-8',
  'page.css': 'text/css; charset=utf-8',
  'icon.svg': 'image/svg+xml',
};

/**
 * The page's files by path: run from source, they are built now; the bundled service has them next to it. Rejects if one
 * is missing or does not compile.
 */
export async function loadPage() {
  const built = import.meta.filename.endsWith('.ts') ? await buildFiles() : null;
  const folder = join(dirname(import.meta.filename), 'inspect');
  const files = Object.entries(types).map(([name, contentType]) => {
    const body = built?.get(name) ?? readFileSync(join(folder, name));
    const path: string = `/inspect/${name === 'index.html' ? '' : name}`;
    return [path, { contentType, body }] as const;
  });
  return new Map(files);
}

async function buildFiles(): Promise<Map<string, Buffer>> {
  const builder = new URL('../../../scripts/build-inspector.ts', import.meta.url);
  const { buildInspector }: { buildInspector(): Promise<Map<string, Buffer>> } = await import(builder.href);
  return buildInspector();
}
