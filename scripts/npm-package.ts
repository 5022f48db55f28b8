/**
 * The package for npm, in a folder: `node scripts/npm-package.ts FOLDER [REPOSITORY_URL]`. The service and the local mesh
 * as JavaScript in the same places as here (Node runs no TypeScript inside node_modules), what both read, and a package.json
 * of its own.
 */
import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const root = join(import.meta.dirname, '..');
const files = ['README.md', 'CHANGELOG.md', 'LICENSE', 'proto', 'envoy/envoy.yaml', 'envoy/requirements.txt'];

/** Writes the package into `folder`, which is made anew. Throws when it does not compile. */
export function createNpmPackage(folder: string, repository?: string): void {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  compile(folder);
  run(process.execPath, join(import.meta.dirname, 'build-inspector.ts'), join(folder, 'src/inspect/built-page'));
  for (const file of files) cpSync(join(root, file), join(folder, file), { recursive: true });
  const bin = 'bin/responses-extproc.mjs';
  cpSync(join(import.meta.dirname, 'npm-bin.mjs'), join(folder, bin));
  chmodSync(join(folder, bin), 0o755);

  const { name, version, description, license, type, engines, dependencies, devDependencies } = JSON.parse(
    readFileSync(join(root, 'package.json'), 'utf8'),
  );
  const manifest = {
    ...{ name, version, description, license, type, engines },
    ...(repository === undefined ? {} : { repository: { type: 'git', url: `git+${repository}.git` } }),
    bin: { [name]: bin },
    // The mesh reads envoy.yaml.
    dependencies: { ...dependencies, yaml: dependencies.yaml ?? devDependencies.yaml },
  };
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
}

function compile(folder: string): void {
  const settings = mkdtempSync(join(tmpdir(), 'responses-extproc-package-'));
  try {
    const project = join(settings, 'tsconfig.json');
    const compilerOptions = {
      noEmit: false,
      rootDir: root,
      outDir: folder,
      typeRoots: [join(root, 'node_modules/@types')],
    };
    const include = ['src', 'tools/mesh'].map((part) => join(root, part));
    const exclude = [join(root, 'src/inspect/page')]; // bundled for the browser
    writeFileSync(project, JSON.stringify({ extends: join(root, 'tsconfig.json'), compilerOptions, include, exclude }));
    const tsc = join(root, 'node_modules/.bin/tsc');
    run(tsc, '--project', project);
  } finally {
    rmSync(settings, { recursive: true });
  }
}

function run(program: string, ...args: string[]): void {
  const { status, stdout, stderr, error } = spawnSync(program, args, { cwd: root, encoding: 'utf8' });
  if (status !== 0) throw new Error(`The package does not compile:\n${error?.message ?? stdout + stderr}`);
}

if (import.meta.main) {
  const [, , folder, repository] = process.argv;
  if (folder === undefined) throw new Error('Usage: node scripts/npm-package.ts FOLDER [REPOSITORY_URL]');
  createNpmPackage(resolve(folder), repository);
}
