import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { parse } from 'yaml';

const root = join(import.meta.dirname, '../../..');
const compose = parse(readFileSync(join(root, 'docker-compose.yml'), 'utf8')) as {
  readonly services: {
    readonly upstream: { readonly command: readonly string[]; readonly volumes: readonly string[] };
  };
};
const { command, volumes } = compose.services.upstream;
/** What the container of docker-compose.yml has, and nothing else. */
const container = mkdtempSync(join(tmpdir(), 'responses-extproc-upstream-'));
afterAll(() => rmSync(container, { recursive: true }));
for (const [from = '', to = ''] of volumes.map((volume) => volume.split(':')))
  cpSync(join(root, from), join(container, to), { recursive: true });

test.each([
  ['127.0.0.1', {}, 'SIGTERM'],
  ['localhost', { HOST: 'localhost' }, 'SIGINT'],
] as const)('the embedded upstream alone listens on %s with %j, until %s', async (host, environment, signal) => {
  const child = spawn(process.execPath, [join(container, command[1] ?? '')], {
    env: { ...process.env, HOST: undefined, PORT: '0', ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines = child.stdout.setEncoding('utf8');
  const [line] = (await Promise.race([once(lines, 'data'), once(lines, 'end')])) as [string?];
  const [, place = ''] = /^The embedded Chat Completions server listens on (.*)\.\n$/.exec(line ?? '') ?? [];
  expect(place).toMatch(new RegExp(`^${host}:[1-9]\\d*$`));
  expect((await fetch(`http://${place}/v1/models`)).status).toBe(200);
  child.kill(signal);
  expect(await once(child, 'close')).toEqual([0, null]);
});
