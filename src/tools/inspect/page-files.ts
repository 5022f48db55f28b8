import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const types: Readonly<Record<string, string>> = {
  'index.html': 'text/html; charset=utf-8',
  'page.js': 'text/javascript; charset=utf-8',
  'page.css': 'text/css; charset=utf-8',
  'icon.svg': 'image/svg+xml',
};

const paths = new Map(Object.keys(types).map((name) => [`/inspect/${name === 'index.html' ? '' : name}`, name]));

/** A file as the browser gets it. */
interface PageFile {
  readonly contentType: string;
  readonly body: Buffer;
}

/**
 * Gives the page's file at a path, or undefined where there is none. The bundled service has them next to it: throws if one is
 * missing. Run from source they are built when the first is asked for, which most runs never do; then it rejects if one does
 * not compile.
 */
export function loadPage(): (path: string) => Promise<PageFile | undefined> {
  const folder = join(dirname(import.meta.filename), 'inspect');
  const fromSource = import.meta.filename.endsWith('.ts');
  const bundled = fromSource ? [] : Object.keys(types).map((name) => [name, readFileSync(join(folder, name))] as const);
  let files: Promise<ReadonlyMap<string, Buffer>> | null = fromSource ? null : Promise.resolve(new Map(bundled));
  return async (path) => {
    const name = paths.get(path);
    if (name === undefined) return undefined;
    files ??= buildFiles();
    const body = (await files).get(name);
    return body && { contentType: types[name] ?? '', body };
  };
}

async function buildFiles(): Promise<Map<string, Buffer>> {
  const builder = new URL('../../../scripts/build-inspector.ts', import.meta.url);
  const { buildInspector }: { buildInspector(): Promise<Map<string, Buffer>> } = await import(builder.href);
  return buildInspector();
}
