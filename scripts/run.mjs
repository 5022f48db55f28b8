/**
 * `node scripts/run.mjs FILE [ARGUMENT…]`, with any installed Node (20 or later), so it is plain JavaScript: sets up what is missing, then
 * runs the file with the pinned Node. npm gives its `pre…` scripts no arguments, and nobody who asks `npm start` for `--help` wants 490 MB
 * installed first.
 */
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const place = (path) => fileURLToPath(new URL(`../${path}`, import.meta.url));
const [name, ...args] = process.argv.slice(2);
const file = place(name);

if (
  !existsSync(place('node_modules')) &&
  name === 'mesh/main.ts' &&
  args.some((arg) => arg === '--help' || arg === '-h')
) {
  const usage = readFileSync(place('mesh/usage.txt'), 'utf8');
  const names = { options: 'npm start --', command: 'npm start', profiles: 'one of those in docs/upstreams.md' };
  process.stdout.write(usage.replace(/\{(\w+)\}/g, (_, name) => names[name]));
} else {
  await import('./setup.mjs');
  const pinned = place('node_modules/node/bin/node');
  // npm puts the pinned Node first on PATH, unless it was installed a moment ago.
  if (existsSync(pinned) && process.execPath !== pinned) runWith(pinned);
  else {
    process.argv = [process.execPath, file, ...args];
    await import(file);
  }
}

/** Runs the file in a process of its own, which ends with this one and with npm. */
function runWith(node) {
  const child = spawn(node, [file, ...args], { stdio: 'inherit' });
  // A terminal's Ctrl-C reaches the child by itself.
  for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  process.on('SIGINT', () => {});
  const npm = process.ppid;
  setInterval(() => process.ppid !== npm && child.kill('SIGTERM'), 500).unref();
  child.once('exit', (code, signal) => {
    process.exitCode = code ?? (signal === 'SIGINT' ? 130 : 1);
  });
}
