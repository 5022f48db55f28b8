import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { casesOf } from '../../../scripts/tests/golden.ts';
import { exchangeFileHead } from '../../../src/tools/files/exchange-file.ts';

const script = join(import.meta.dirname, '../../../scripts/tests/golden.ts');
const folder = mkdtempSync(join(tmpdir(), 'extproc-golden-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** `npm run golden` with another folder of cases. */
function golden(...words: readonly string[]) {
  const env = { ...process.env, GOLDEN_FOLDER: folder };
  const { status, stdout, stderr } = spawnSync(process.execPath, [script, ...words], { encoding: 'utf8', env });
  return { status, said: `${stdout}\n${stderr}` };
}

/** What the inspector downloads of an upstream that refused. */
const exchange = (message: string) => {
  const headers = [{ name: 'content-type', value: 'application/json' }];
  const answer = (error: object) => ({
    status: 429,
    headers,
    pieces: [{ at_ms: 1, text: JSON.stringify({ error }) }],
  });
  return JSON.stringify({
    ...exchangeFileHead,
    profile: 'generic',
    started_at: '2026-01-01T00:00:00.000Z',
    client_request: { method: 'POST', path: '/v1/responses', headers, body: '{"model":"m","input":"Hi"}' },
    chat_request: { method: 'POST', path: '/v1/chat/completions', headers, body: '{"model":"m","messages":[]}' },
    chat_response: answer({ message: 'Too fast.', code: 'rate_limit_exceeded' }),
    client_response: answer({ type: 'too_many_requests', code: 'rate_limit_exceeded', message, param: null }),
    dropped: [],
    outcome: 'upstream_error',
    error: null,
  });
};
const table = readFileSync(join(import.meta.dirname, '../../golden/errors.md'), 'utf8');
const download = join(folder, 'exchange-m-1.json');

beforeEach(() => {
  writeFileSync(join(folder, 'errors.md'), table);
  writeFileSync(download, exchange('Too fast.'));
});

describe('npm run golden', () => {
  test('finds one case by any of its lines, and without a line all of a file', () => {
    const line = table.split('\n').findLastIndex((text) => text.startsWith('## ')) + 1;
    for (const at of [line, line + 2])
      expect(casesOf([`errors.md:${at}`])).toEqual({ file: 'errors.md', where: `errors.md:${line}` });
    expect(casesOf(['test/golden/errors.md'])).toEqual({ file: 'errors.md', where: 'errors.md:' });
  });

  test('makes a case of what the inspector downloads, runs it alone, and says where it is when it fails', () => {
    const good = golden('--add', download);
    // As many tests as the errors' runner has for a case.
    expect(good.said).toMatch(/^errors\.md:\d+: 2 passed, 0 failed$/m);
    expect(good.status).toBe(0);
    expect(readFileSync(join(folder, 'errors.md'), 'utf8')).toContain('\n\n## Saved from exchange-m-1\n');
    writeFileSync(download, exchange('Try again.'));
    const bad = golden('--add', download, '--into', 'errors.md');
    expect(bad.said).toMatch(/^The case: test\/golden\/errors\.md:\d+$/m);
    expect(bad.status).toBe(1);
  });

  test.each([
    [[], 'Which case?'],
    [['errors.md:1'], 'No case of errors.md begins at or before line 1.'],
    [['stream-nothing.md:8'], 'There is no test/golden/stream-nothing.md.'],
    [['--add', 'gone.md'], 'There is no file gone.md.'],
    [['--add', download, '--into', 'stream-x.md'], 'There is no test/golden/stream-x.md.'],
    [['--add', script], 'is not what “Download JSON” writes'],
    [['--add', download, '--into', 'golden.ts'], 'There is no test/golden/golden.ts.'],
    [['--add', join(import.meta.dirname, '../../../package.json')], 'is not what “Download JSON” writes'],
  ])('%j: what is wrong', (words, problem) => {
    expect(() => casesOf(words)).toThrow(problem);
  });

  test('wrong usage is exit code 2', () => {
    expect(golden()).toMatchObject({ status: 2, said: expect.stringContaining('Which case?') });
  });
});
