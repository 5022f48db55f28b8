import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { clientsFolder, pythonPackages } from './install.ts';

/** How a scenario ended in the client's own words. */
export interface Outcome {
  readonly outcome?: unknown;
  readonly error?: { readonly name: string; readonly message: string; readonly status: number | null };
}

/** A process that runs the scenarios of one library. */
export interface Driver {
  run(scenario: string, options: { readonly baseURL: string; readonly model: string }): Promise<Outcome>;
  stop(): Promise<void>;
}

/** Whatever is not on this machine goes to a port where nobody listens; nothing is reported to anyone. */
export const offline = {
  HTTP_PROXY: 'http://127.0.0.1:9',
  HTTPS_PROXY: 'http://127.0.0.1:9',
  ALL_PROXY: 'http://127.0.0.1:9',
  NO_PROXY: '127.0.0.1,localhost',
  NODE_USE_ENV_PROXY: '1',
  OPENAI_AGENTS_DISABLE_TRACING: '1',
  LANGSMITH_TRACING: 'false',
  AI_SDK_TELEMETRY_DISABLED: '1',
} as const;

/** Starts drivers/NAME, in Python where the name says so. One scenario at a time. */
export function startDriver(name: string): Driver {
  const folder = join(import.meta.dirname, 'drivers');
  const [command, ...args] = name.endsWith('_python')
    ? ['python3', join(folder, 'serve.py'), name]
    : [process.execPath, '--import', join(folder, 'resolve.mjs'), join(folder, 'serve.mjs'), name];
  const child = spawn(command, args, {
    env: {
      PATH: process.env['PATH'],
      HOME: clientsFolder,
      CLIENTS_FOLDER: clientsFolder,
      PYTHONPATH: pythonPackages,
      PYTHONNOUSERSITE: '1',
      PYTHONDONTWRITEBYTECODE: '1',
      ...offline,
    },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  let errors = '';
  child.stderr.on('data', (text) => {
    errors += text;
  });
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    async run(scenario, options) {
      child.stdin.write(`${JSON.stringify({ scenario, ...options })}\n`);
      const { value, done } = await lines.next();
      if (done) throw new Error(`The driver ${name} ended:\n${errors}`);
      return JSON.parse(value) as Outcome;
    },
    async stop() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}
