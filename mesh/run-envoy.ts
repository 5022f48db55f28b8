import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:os';
import { findEnvoy } from './envoy-binary.ts';

/** Runs Envoy with its own options, in this terminal, until it ends. Resolves with its exit code; throws when there is no Envoy. */
export async function runEnvoy(args: readonly string[]): Promise<number> {
  const child = spawn(findEnvoy(process.env).path, [...args], { stdio: 'inherit' });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => child.kill(signal));
  const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
  return code ?? 128 + (signal === null ? 0 : constants.signals[signal]);
}
