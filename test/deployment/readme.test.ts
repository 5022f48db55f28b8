import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { findFreePort } from '../../mesh/ports.ts';
import { publicationSentences } from '../../scripts/generate/publication.ts';
import { readmeBlock, readmeCommands } from '../../scripts/tests/readme-commands.ts';

const root = join(import.meta.dirname, '../..');
const readme = readFileSync(join(root, 'README.md'), 'utf8');
const scripts = Object.keys(JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).scripts);

/** Runs a line of shell in the project's folder until it ends, or until its output satisfies `enough`. */
function shell(command: string, enough: (output: string) => boolean = () => false) {
  const child = spawn('bash', ['-c', command], { cwd: root, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  const result = new Promise<string>((resolve) => {
    const take = (text: Buffer) => {
      output += text;
      if (enough(output)) resolve(output);
    };
    child.stdout.on('data', take);
    child.stderr.on('data', take);
    child.once('close', () => resolve(output));
  });
  const stop = () =>
    new Promise<void>((resolve) => {
      if (child.exitCode !== null || child.pid === undefined) return resolve();
      child.once('close', () => resolve());
      process.kill(-child.pid, 'SIGTERM');
    });
  return { result, stop };
}

describe('the README', () => {
  test('its first command starts the mesh, its curl prints what stands below it, and its program runs', async () => {
    const { start, curl: command, printed: expected } = readmeCommands(readme);
    expect(start).toBe('npm start');
    expect(command).toContain('http://127.0.0.1:10000/');

    const port = await findFreePort();
    const mesh = shell(`npm start -- --port ${port}`, (output) => /^ready /m.test(output));
    expect(await mesh.result).toMatch(new RegExp(`^ready http://127\\.0\\.0\\.1:${port}/v1$`, 'm'));
    const printed = await shell(command.replace('127.0.0.1:10000', `127.0.0.1:${port}`)).result;
    // The file that a reader makes of it, in a folder where `npm install openai` ran.
    expect(readme).toContain('`hello.mjs`');
    const folder = mkdtempSync(join(tmpdir(), 'responses-extproc-readme-'));
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
    const program = readmeBlock(readme, 'js').replace('http://127.0.0.1:10000', `http://127.0.0.1:${port}`);
    writeFileSync(join(folder, 'hello.mjs'), program);
    const events = await shell(`env -u OPENAI_API_KEY node_modules/.bin/node ${join(folder, 'hello.mjs')}`).result;
    rmSync(folder, { recursive: true });
    await mesh.stop();
    expect(events.trim().split('\n').at(-1)).toBe('response.completed');

    // `…` stands for anything, at the end for the rest.
    const pattern = expected
      .trimEnd()
      .split('…')
      .map((text) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
    expect(printed).toMatch(new RegExp(`^${pattern.join('.*?')}`, 's'));
    expect(printed).toMatch(/event: response\.completed\ndata: .*\n\ndata: \[DONE\]\n\n$/);
  });

  test('every npm script it names exists', () => {
    const named = [...readme.matchAll(/(?:^|`|&& )npm (?:run )?([a-z:]+)/gm)].map(([, name = '']) => name);
    expect(named.length).toBeGreaterThan(3);
    for (const name of named) if (!['ci', 'install'].includes(name)) expect(scripts).toContain(name);
  });

  test('it says of the command of a package that nobody has published that it is to come', () => {
    const { npx } = publicationSentences(readFileSync(join(root, 'CHANGELOG.md'), 'utf8'));
    const lines = readme.split('\n').filter((line) => /\bnpx\b/.test(line.replace(/^<!--.*-->$/, '')));
    expect(lines).toEqual([npx]);
  });

  test('every file it links to exists', () => {
    const links = [...readme.matchAll(/\]\(([^)#]+?)(?:#[^)]*)?\)/g)].map(([, path = '']) => path);
    for (const path of links)
      if (!path.startsWith('http')) expect([path, existsSync(join(root, path))]).toEqual([path, true]);
  });

  test('the service is built and started as it says', async () => {
    expect(readme).toContain('npm run build && node dist/main.js');
    const printed = await shell('npm run build && node_modules/.bin/node dist/main.js --print-config').result;
    expect(printed).toMatch(/"?LISTEN"?.*0\.0\.0\.0:50051/);
  });
});
