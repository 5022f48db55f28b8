import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';

const here = import.meta.dirname;

/** Where the clients are installed; nothing of it is in git. */
export const clientsFolder = join(here, '../../.cache/clients');
/** Its Python packages, for PYTHONPATH: pip alone makes no virtual environment, and some systems have no `venv`. */
export const pythonPackages = join(clientsFolder, 'python');

/**
 * Installs what package-lock.json and requirements.txt name, unless it is there already. vitest runs it before the
 * project `clients`. Throws with the installer's output when a client cannot be installed: a client that was not run
 * must not look like one that works.
 */
export default function installClients(): void {
  mkdirSync(clientsFolder, { recursive: true });
  unlessCurrent(['package.json', 'package-lock.json'], () => {
    const npm = process.env['npm_execpath'];
    // No install script is needed, and none is run.
    const args = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
    for (const name of ['package.json', 'package-lock.json']) cpSync(join(here, name), join(clientsFolder, name));
    if (npm === undefined) run('npm', args);
    else run(process.env['npm_node_execpath'] ?? process.execPath, [npm, ...args]);
  });
  unlessCurrent(['requirements.txt'], () => {
    rmSync(pythonPackages, { recursive: true, force: true });
    const options = ['--quiet', '--disable-pip-version-check', '--no-deps', '--target', pythonPackages];
    run('python3', ['-m', 'pip', 'install', ...options, '-r', join(here, 'requirements.txt')]);
  });
}

/** Runs the installer when these files are not those it last succeeded with. */
function unlessCurrent(files: readonly string[], install: () => void): void {
  const installed = join(clientsFolder, 'installed');
  const same = (name: string) =>
    existsSync(join(installed, name)) && readFileSync(join(installed, name)).equals(readFileSync(join(here, name)));
  if (files.every(same)) return;
  console.log(`Installing the clients of ${files.at(-1)} …`);
  // Half an installation must not pass for the one before it.
  for (const name of files) rmSync(join(installed, name), { force: true });
  install();
  for (const name of files) cpSync(join(here, name), join(installed, name));
}

function run(command: string, args: readonly string[]): void {
  const { status, error, stdout, stderr } = spawnSync(command, args, { cwd: clientsFolder, encoding: 'utf8' });
  if (status === 0) return;
  const output = `${stdout ?? ''}${stderr ?? ''}`.trim().slice(-2000);
  throw new Error(`A client could not be installed: ${command} ${args.join(' ')} failed\n${error?.message ?? output}`);
}
