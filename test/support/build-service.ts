import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { TestProject } from 'vitest/node';
import { buildService } from '../../scripts/build.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The built service's file; absent in projects that start it from its sources. */
    builtService?: string;
  }
}

const root = join(import.meta.dirname, '../..');

/**
 * A global setup of vitest: builds the service from the sources as they are now, for the processes that the tests of its projects
 * start. A start from the sources takes three times the CPU time, and these tests start a hundred. Each run has its own folder,
 * removed at its end, so that no run uses another's build; projects of one run share it. Throws when the service cannot be
 * built, or does not start.
 */
export default async function buildForTests({ vitest }: TestProject): Promise<(() => void) | undefined> {
  const ofRun = vitest.getRootProject();
  if (ofRun.getProvidedContext().builtService !== undefined) return undefined;
  const folder = mkdtempSync(join(tmpdir(), 'responses-extproc-built-'));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  try {
    // The file that the service reads from next to its folder.
    symlinkSync(join(root, 'package.json'), join(folder, 'package.json'));
    await buildService(join(folder, 'dist'));
    const main = join(folder, 'dist/main.js');
    await runOnce(main);
    ofRun.provide('builtService', main);
    return remove;
  } catch (error) {
    remove();
    throw error;
  }
}

/** A service writes V8's code cache when it exits, for all that start after it. */
async function runOnce(main: string): Promise<void> {
  const env = { ...process.env, LISTEN: '127.0.0.1:0', ADMIN_LISTEN: '127.0.0.1:0', DRAIN_DELAY_MS: '0' };
  const child = spawn(process.execPath, [main], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(child, 'exit');
  await Promise.race([once(createInterface(child.stdout), 'line'), ended]);
  child.kill();
  const [status] = await ended;
  if (status !== 0) throw new Error(`The built service ended with ${status}.`);
}
