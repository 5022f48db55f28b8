import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const program = join(import.meta.dirname, '../../../mesh/serve-upstream.ts');

test.each([
  ['127.0.0.1', {}, 'SIGTERM'],
  ['localhost', { HOST: 'localhost' }, 'SIGINT'],
] as const)('the embedded upstream alone listens on %s with %j, until %s', async (host, environment, signal) => {
  const child = spawn(process.execPath, [program], {
    env: { ...process.env, HOST: undefined, PORT: '0', ...environment },
  });
  const [line] = (await once(child.stdout.setEncoding('utf8'), 'data')) as [string];
  const [, place = ''] = /^The embedded Chat Completions server listens on (.*)\.\n$/.exec(line) ?? [];
  expect(place).toMatch(new RegExp(`^${host}:[1-9]\\d*$`));
  expect((await fetch(`http://${place}/v1/models`)).status).toBe(200);
  child.kill(signal);
  expect(await once(child, 'close')).toEqual([0, null]);
});
