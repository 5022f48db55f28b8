/**
 * Builds the service into `dist/`: `node scripts/build.ts [FOLDER]`. `program.js` is all that it runs, dependencies included,
 * since finding, reading and compiling 600 files is most of a start; `src/program/bundle-main.ts` starts it from V8's code cache.
 * docs/decisions/0012-speed.md, "Start", has the figures.
 */
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import module from 'node:module';
import { join, relative, resolve } from 'node:path';
import { type BuildOptions, build, type Metafile, type Plugin } from 'esbuild';
import { checkGrpcJsInternals } from '../src/service/server/grpc-js-internals.ts';
import { writeInspector } from './build-inspector.ts';
import { checkWireNumbers } from './generate/wire-numbers.ts';

const root = join(import.meta.dirname, '..');

const common = {
  absWorkingDir: root,
  bundle: true,
  platform: 'node',
  target: 'node22.22',
  minifyWhitespace: true,
  minifySyntax: true,
  sourcemap: 'linked',
  sourcesContent: false,
  legalComments: 'none',
  metafile: true,
  logLevel: 'warning',
} as const satisfies BuildOptions;

/**
 * Builds the service into `folder`, which is created anew. Throws when the sources or a dependency cannot be bundled, and when the sources
 * have other numbers of the wire than `proto/`.
 */
export async function buildService(folder: string): Promise<void> {
  checkWireNumbers();
  await checkGrpcJsInternals();
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const options = {
    ...common,
    outdir: folder,
    // CommonJS, because V8's code cache, a lazy `require` and builtins are all cheaper there than in ES modules.
    format: 'cjs',
    supported: { 'dynamic-import': false },
    // Its users, channelz and ORCA, load it when they are called, which nobody does here.
    external: ['@grpc/proto-loader'],
    define: { checkedNode: JSON.stringify(process.version) },
    plugins: [bundlesOfTheirOwn, placeInSources],
  } as const satisfies BuildOptions;
  const entryPoints = ['src/program/probe.ts', ...ownFiles].map((file) => ({ in: file, out: outputOf(file) }));
  const { metafile } = await build({ ...options, entryPoints });
  const program = join(folder, 'program.js');
  writeFileSync(program, module.wrap(inAscii(readFileSync(program, 'utf8'))));
  const id = createHash('sha256').update(readFileSync(program)).digest('hex').slice(0, 16);
  await build({
    ...options,
    entryPoints: [
      { in: 'src/program/bundle-main.ts', out: 'main' },
      { in: 'src/program/check-node.ts', out: 'check-node' }, // the package's command runs it before the mesh
    ],
    define: { buildId: JSON.stringify(id) },
  });
  const page = await writeInspector(join(folder, 'inspect'));
  writeFileSync(join(folder, 'package.json'), '{"type":"commonjs"}\n');
  writeThirdParties(folder, [metafile, page]);
}

/** `bundle-main.ts` reads it as Latin-1. esbuild escapes what is in strings, but not in regular expressions. */
function inAscii(code: string): string {
  return code.replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** Builds the local mesh as one ES module, `mesh.mjs`, into a folder of `buildService`. */
export async function buildMesh(folder: string): Promise<void> {
  await build({
    ...common,
    entryPoints: ['mesh/main.ts'],
    outfile: join(folder, 'mesh.mjs'),
    format: 'esm',
    banner: { js: "import{createRequire}from'node:module';const require=createRequire(import.meta.url);" },
    plugins: [placeInSources],
  });
}

/**
 * Files with their own bundle: the program, and what a service rarely needs and would otherwise read at each start. They
 * contain copies of what they share with the program, so they must not share state or classes with it.
 */
const ownFiles = [
  'src/program/program.ts',
  'src/program/explain-worker.ts',
  'src/tools/explain/explain-command.ts',
  'src/tools/doctor/doctor-command.ts',
  'src/filter/upstream/profiles-file.ts',
  'src/service/telemetry/tracing.ts',
  'src/service/websocket/websocket-server.ts',
];

function outputOf(file: string): string {
  const [, place = ''] = /^src\/(?:program|filter|service|tools)\/(.*)\.ts$/.exec(file) ?? [];
  return place.replaceAll('/', '-');
}

/** Leaves those files to their own bundles. */
const bundlesOfTheirOwn: Plugin = {
  name: 'bundles-of-their-own',
  setup({ onResolve }) {
    onResolve({ filter: /^\.{1,2}\// }, ({ path, resolveDir, kind }) => {
      const file = relative(root, join(resolveDir, path));
      const isLoadedLate = kind === 'dynamic-import' || kind === 'require-call';
      return isLoadedLate && ownFiles.includes(file) ? { path: `./${outputOf(file)}.js`, external: true } : undefined;
    });
  },
};

/**
 * Lets a source file find other files from its place in the sources although its code is in `dist/`, and lets esbuild see
 * what is loaded lazily: it bundles what a plain `require` names, and runs it at the first call.
 */
const placeInSources: Plugin = {
  name: 'place-in-sources',
  setup({ initialOptions, onLoad }) {
    const here = initialOptions.format === 'esm' ? 'import.meta.url' : "require('node:url').pathToFileURL(__filename)";
    onLoad({ filter: /[/\\](?:src|mesh)[/\\].*\.ts$/ }, ({ path }) => {
      const url = `new URL(${JSON.stringify(relative(join(root, 'dist'), path))}, ${here})`;
      const contents = readFileSync(path, 'utf8')
        .replace(/^const require = createRequire\(import\.meta\.url\);$/m, '')
        .replaceAll('import.meta.filename', '__filename')
        .replaceAll('import.meta.url', `${url}.href`)
        .replaceAll('import.meta.dirname', `require('node:url').fileURLToPath(new URL('.', ${url}))`);
      return { contents, loader: 'ts' };
    });
  },
};

/**
 * Names every package in the bundles: with its licence in `THIRD_PARTY_LICENSES.txt`, and as `third-party/NAME/package.json`,
 * where the scanners that write a bill of materials of an image look for packages. Throws if one has no licence.
 */
function writeThirdParties(folder: string, metafiles: readonly Metafile[]): void {
  const inputs = metafiles.flatMap((metafile) => Object.keys(metafile.inputs));
  const packages = new Set(inputs.flatMap((path) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? []));
  const parts = [...packages].sort().map((path) => {
    const { name, version, license } = JSON.parse(readFileSync(join(root, path, 'package.json'), 'utf8'));
    const file = readdirSync(join(root, path)).find((entry) => /^(licen[cs]e|copying)/i.test(entry));
    const text = file === undefined ? '' : readFileSync(join(root, path, file), 'utf8').trim();
    if (text === '' && typeof license !== 'string') throw new Error(`${path} has no licence`);
    mkdirSync(join(folder, 'third-party', name), { recursive: true });
    writeFileSync(join(folder, 'third-party', name, 'package.json'), JSON.stringify({ name, version, license }));
    return `${name} ${version} (${license})\n\n${text}\n`;
  });
  writeFileSync(join(folder, 'THIRD_PARTY_LICENSES.txt'), parts.join(`\n${'-'.repeat(80)}\n\n`));
}

if (import.meta.main) await buildService(resolve(process.argv[2] ?? join(root, 'dist')));
