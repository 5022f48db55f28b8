import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';

const root = join(import.meta.dirname, '../..');
let mesh: ChildProcess;
let baseURL: string;

beforeAll(async () => {
  const child = spawn(process.execPath, [join(root, 'mesh/main.ts')], { stdio: ['ignore', 'pipe', 'pipe'] });
  mesh = child;
  let stderr = '';
  child.stderr.on('data', (text) => {
    stderr += text;
  });
  for await (const line of createInterface(child.stdout)) {
    const ready = /^ready (\S+)$/.exec(line)?.[1];
    if (ready === undefined) continue;
    baseURL = ready;
    child.stdout.resume();
    return;
  }
  throw new Error(`the mesh ended before it was ready:\n${stderr}`);
});

afterAll(async () => {
  mesh.kill('SIGINT');
  await once(mesh, 'exit');
});

/** What the embedded upstream makes each of the programs print. */
const examples: readonly [name: string, output: string][] = [
  ['create', 'You said: What does an Envoy filter do?\ncompleted: 10 tokens in, 8 out\n'],
  ['stream', 'You said: Count from one to five, in words.\ncompleted: 9 tokens out\n'],
  [
    'tools',
    'get_weather({"city":"Paris"})\nget_weather({"city":"Rome"})\n' +
      'The tools returned: Paris: 21 degrees, sunny | Rome: 21 degrees, sunny\n',
  ],
  ['structured', 'example on Monday, with example\n'],
  ['image', 'You said: What is in this image?  I was shown 1 image.\n'],
  [
    'reasoning',
    'The user said 6 words. I repeat them.\n---\n' +
      'You said: Which is larger, 9.11 or 9.9?\n---\nYou said: Are you sure?\n',
  ],
];

it.each(examples)('docs/examples/%s.mjs does what it says', async (name, output) => {
  const program = join(root, `docs/examples/${name}.mjs`);
  const { stdout } = await promisify(execFile)(process.execPath, [program, baseURL], { cwd: root });
  expect(stdout).toBe(output);
});
