import { execFileSync, spawnSync } from 'node:child_process';
import { chownSync, existsSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findFreePort, waitUntilListening } from '../../mesh/ports.ts';
import { type Child, startChild } from '../../mesh/processes.ts';

const requirements = join(import.meta.dirname, 'requirements.txt');

/** The binary of vLLM's agentic-api as PyPI has it, installed into `.cache/` when missing. Throws with pip's output. */
export function installAgenticApi(): string {
  const version = /^agentic-api==(\S+)/m.exec(readFileSync(requirements, 'utf8'))?.[1];
  const folder = join(import.meta.dirname, `../../.cache/agentic-api-${version}`);
  if (!existsSync(folder)) {
    const unfinished = `${folder}.${process.pid}`;
    const options = ['--quiet', '--disable-pip-version-check', '--no-deps', '--target', unfinished];
    const pip = spawnSync('python3', ['-m', 'pip', 'install', ...options, '-r', requirements], { encoding: 'utf8' });
    if (pip.status !== 0) throw new Error(`agentic-api could not be installed:\n${pip.stderr}`);
    renameSync(unfinished, folder);
  }
  return join(folder, 'bin/agentic-server');
}

/** A PostgreSQL of the system's package, with a cluster of its own that `remove` deletes. Throws where there is none. */
export async function startPostgres(): Promise<{ readonly url: string; remove(): Promise<void> }> {
  const base = '/usr/lib/postgresql';
  const version = existsSync(base) ? readdirSync(base).at(-1) : undefined;
  if (version === undefined) throw new Error('There is no PostgreSQL: install Debian’s package `postgresql`.');
  const folder = mkdtempSync(join(tmpdir(), 'responses-extproc-postgres-'));
  // It refuses to run as root.
  const id = (flag: string) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }));
  const user = process.getuid?.() === 0 ? { uid: id('-u'), gid: id('-g') } : {};
  if (user.uid !== undefined) chownSync(folder, user.uid, user.gid);
  const data = join(folder, 'data');
  const options = ['-D', data, '-A', 'trust', '-U', 'postgres', '--no-sync'];
  execFileSync(join(base, version, 'bin/initdb'), options, { ...user, cwd: folder, stdio: 'ignore' });
  const port = await findFreePort();
  const settings = ['-p', `${port}`, '-c', 'listen_addresses=127.0.0.1', '-c', `unix_socket_directories=${folder}`];
  const run = (mode: 'start' | 'stop', ...more: string[]) =>
    execFileSync(join(base, version, 'bin/pg_ctl'), ['-D', data, '-w', mode, ...more], {
      ...user,
      cwd: folder,
      stdio: 'ignore',
    });
  run('start', '-l', join(folder, 'log'), '-o', settings.join(' '));
  return {
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    async remove() {
      run('stop', '-m', 'immediate');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The tier in front, which keeps the state. */
export interface StateTier {
  readonly url: string;
  stop(): Promise<void>;
}

/** Starts it before `proxy`, with the database; `port` keeps the address over a restart. */
export async function startStateTier(
  binary: string,
  { proxy, database, home, port }: { proxy: string; database: string; home: string; port: number },
): Promise<StateTier> {
  const lines: string[] = [];
  const child: Child = startChild('agentic-server', binary, ['--llm-api-base', proxy, '--skip-llm-ready-check'], {
    environment: {
      PATH: process.env['PATH'],
      HOME: home,
      DATABASE_URL: database,
      GATEWAY_HOST: '127.0.0.1',
      GATEWAY_PORT: `${port}`,
    },
    onLine: (line) => lines.push(line),
  });
  const over = new AbortController();
  const failed = child.ended.then((end) => {
    throw new Error(`agentic-server ended (${end}):\n${lines.join('\n')}`);
  });
  failed.catch(() => {});
  await Promise.race([waitUntilListening(port, over.signal), failed]).finally(() => over.abort());
  return { url: `http://127.0.0.1:${port}`, stop: () => child.stop() };
}
