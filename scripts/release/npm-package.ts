/**
 * The package for npm, in a folder: `node scripts/release/npm-package.ts FOLDER [REPOSITORY_URL]`. The service and the local mesh,
 * each as one file with its dependencies in it, so that nothing else is installed; the files that both read; and its own package.json.
 */
import { chmodSync, cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { buildMesh, buildService } from '../build.ts';
import { npxCommand } from '../generate/publication.ts';

const root = join(import.meta.dirname, '../..');
const files = [
  'CHANGELOG.md',
  'LICENSE',
  'envoy/envoy.yaml',
  'envoy/minimal.yaml',
  'envoy/requirements.txt',
  'mesh/usage.txt',
];

/** Writes the package into `folder`, which is created anew. Rejects when it cannot be bundled. */
export async function createNpmPackage(folder: string, repository?: string): Promise<void> {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  await buildService(join(folder, 'dist'));
  await buildMesh(join(folder, 'dist'));
  for (const file of files) cpSync(join(root, file), join(folder, file), { recursive: true });
  const bin = 'bin/responses-extproc.mjs';
  cpSync(join(import.meta.dirname, '../npm-bin.mjs'), join(folder, bin));
  chmodSync(join(folder, bin), 0o755);

  const packageJson = readFileSync(join(root, 'package.json'), 'utf8');
  const { name, version, description, license, keywords, type, engines } = JSON.parse(packageJson);
  const home = repository ?? `https://github.com/OWNER/${name}`;
  const manifest = {
    name,
    version,
    description,
    license,
    keywords,
    type,
    engines,
    ...(repository === undefined ? {} : { repository: { type: 'git', url: `git+${repository}.git` } }),
    homepage: `${home}#readme`,
    bugs: `${home}/issues`,
    bin: { [name]: bin },
  };
  const readme = readFileSync(join(import.meta.dirname, 'npm-readme.md'), 'utf8');
  const named = readme.replaceAll('npx responses-extproc', npxCommand(version));
  writeFileSync(join(folder, 'README.md'), named.replaceAll('](../../', `](${home}/blob/v${version}/`));
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
}

if (import.meta.main) {
  const [, , folder, repository] = process.argv;
  if (folder === undefined) throw new Error('Usage: node scripts/release/npm-package.ts FOLDER [REPOSITORY_URL]');
  await createNpmPackage(resolve(folder), repository);
}
