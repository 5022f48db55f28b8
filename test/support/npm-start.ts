import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const main = join(import.meta.dirname, '../../scripts/run.mjs');

/** What `npm start` runs, and what it wrote. */
export type NpmStart = ReturnType<typeof npmStart>;

/** Runs what `npm start` runs. Its watchdog ends what it started once it is killed. */
export function npmStart(args: readonly string[], environment: Record<string, string> = {}) {
  const child = spawn(process.execPath, [main, 'mesh/main.ts', ...args], {
    env: { ...process.env, npm_lifecycle_event: 'start', ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (text) => {
    stdout += text;
  });
  child.stderr.on('data', (text) => {
    stderr += text;
  });
  const exit = new Promise<number | null>((resolve) => child.once('close', resolve));
  return {
    child,
    exit,
    stdout: () => stdout,
    stderr: () => stderr,
    /** The address in its `ready` line. */
    ready(): Promise<string> {
      return this.says(/^ready (http:\/\/127\.0\.0\.1:\d+\/v1)$/m);
    },
    /** The address in the line that stands there when the upstream is not usable. */
    warns(): Promise<string> {
      return this.says(/^WARNING (http:\/\/127\.0\.0\.1:\d+\/v1) is open, but its Chat server cannot be used: /m);
    },
    async says(line: RegExp): Promise<string> {
      for (;;) {
        const url = line.exec(stdout)?.[1];
        if (url !== undefined) return url;
        if (child.exitCode !== null) throw new Error(`ended with ${child.exitCode}:\n${stdout}${stderr}`);
        await sleep(20);
      }
    },
    /** The processes it started, by the end of their command lines. */
    async children(): Promise<Map<string, number>> {
      const { stdout: list } = await run('ps', ['-A', '-o', 'ppid=,pid=,args=']);
      const rows = [...list.matchAll(/^\s*(\d+)\s+(\d+)\s+(.*)$/gm)];
      const own = rows.filter(([, parent]) => Number(parent) === child.pid);
      const nameOf = (command: string) =>
        command.includes('envoy.json') ? 'envoy' : command.includes('src/main.ts') ? 'service' : 'watchdog';
      return new Map(own.map(([, , pid, command = '']) => [nameOf(command), Number(pid)]));
    },
  };
}

/** Runs a command to its end. */
export async function run(command: string, args: readonly string[]) {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  let stdout = '';
  child.stdout.on('data', (text) => {
    stdout += text;
  });
  await new Promise((resolve) => child.once('close', resolve));
  return { stdout };
}

/** Where it says where the inspector is. */
export const inspectorLine = /^See each request and what it becomes: (\S+)$/m;

/** The exchanges that the inspector at this address lists, as the page is told when it opens. */
export async function listedBy(page: string): Promise<string[]> {
  const response = await fetch(`${page}/events`);
  let text = '';
  for await (const piece of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    text += Buffer.from(piece).toString();
    const [, data] = /^event: list\ndata: (.*)\n\n/.exec(text) ?? [];
    if (data === undefined) continue;
    const { rows } = JSON.parse(data) as { readonly rows: readonly Readonly<Record<string, unknown>>[] };
    return rows.map(({ model, outcome, status }) => `${model} ${outcome} ${status}`);
  }
  throw new Error(`no list in ${text}`);
}
