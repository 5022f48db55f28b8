import { spawnSync } from 'node:child_process';
import { createWriteStream, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, expect, it } from 'vitest';
import { readInput, requestIn } from '../../../../src/tools/explain/read-input.ts';

const folder = mkdtempSync(join(tmpdir(), 'responses-extproc-input-'));
afterAll(() => rmSync(folder, { recursive: true }));
const stdin = (...pieces: string[]) => Readable.from(pieces.map((piece) => Buffer.from(piece)));

it('standard input is read up to the limit, and refused beyond it', async () => {
  expect((await readInput(null, stdin('ab', 'cd'), 4)).toString()).toBe('abcd');
  await expect(readInput(null, stdin('ab', 'cde'), 4)).rejects.toThrow(
    'standard input cannot be read: it is larger than 4',
  );
});

it('a pipe with a name, whose size nobody knows, is refused beyond the limit too', async () => {
  const path = join(folder, 'pipe');
  spawnSync('mkfifo', [path]);
  const writer = createWriteStream(path).on('error', () => {}); // the reader leaves early
  writer.end('abcde');
  await expect(readInput(path, stdin(), 4)).rejects.toThrow(`${path} cannot be read: it is larger than 4 bytes`);
});

it('a file with more values than any exchange is a plain request: parsed, its brackets would take gigabytes', () => {
  const file = (values: number) => Buffer.from(`{"path":"/v1/other","body":[${'[],'.repeat(values)}0]}`);
  expect(requestIn(file(10), '/v1/responses').request.path).toBe('/v1/other');
  const rich = file(5_000_000);
  const { path, body } = requestIn(rich, '/v1/responses').request;
  expect({ path, isAsGiven: body === rich }).toEqual({ path: '/v1/responses', isAsGiven: true });
});
