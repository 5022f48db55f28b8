import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { oldestNodes } from '../../src/program/check-node.ts';

const cache = join(import.meta.dirname, '../../.cache');

/** The program of the oldest Node that is admitted, from `.cache` or installed into it. */
export function oldestNode(): string {
  const [version] = oldestNodes;
  const folder = join(cache, `node-${version}`);
  const path = join(folder, 'node_modules/node/bin/node');
  const options = ['--no-audit', '--no-fund', '--no-save', '--loglevel=error', '--ignore-scripts=false'];
  if (!existsSync(path)) execFileSync('npm', ['install', '--prefix', folder, ...options, `node@${version}`]);
  return path;
}
