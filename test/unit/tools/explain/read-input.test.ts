import { spawnSync } from 'node:child_process';
import { createWriteStream, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, describe, expect, it } from 'vitest';
import { answerIn, readInput, requestIn } from '../../../../src/tools/explain/read-input.ts';
import { exchangeFileHead } from '../../../../src/tools/files/exchange-file.ts';

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

it('a request without headers is JSON, whatever its path', () => {
  const { method, headers } = requestIn(Buffer.from('{"model":"m"}'), '/v1/responses/compact').request;
  expect([method, [...headers]]).toEqual(['POST', [['content-type', 'application/json']]]);
});

describe('the answer of a saved exchange', () => {
  const chunksOf = (type: string, pieces: readonly (readonly [atMs: number, text: string])[]) => {
    const answer = {
      status: 200,
      headers: [{ name: 'content-type', value: type }],
      pieces: pieces.map(([at_ms, text]) => ({ at_ms, text })),
    };
    const file = {
      ...exchangeFileHead,
      ...{ profile: 'generic', started_at: '2026-11-22T00:00:00Z', outcome: 'completed', error: null },
      client_request: { method: 'POST', path: '/v1/responses', headers: [], body: '{}' },
      ...{ chat_request: null, chat_response: answer, client_response: answer, dropped: [] },
    };
    const read = answerIn(Buffer.from(JSON.stringify(file)), 200);
    return read.chunks.map(({ atMs, bytes }) => [atMs, bytes.toString()]);
  };

  it('is cut where its events end, each with the time of its last byte', () => {
    const pieces = [
      [1, 'data: a'],
      [2, '\n\ndata: b\n\nda'],
      [3, 'ta: c\n'],
      [4, '\n'],
    ] as const;
    const events = [
      [2, 'data: a\n\n'],
      [2, 'data: b\n\n'],
      [4, 'data: c\n\n'],
    ];
    expect(chunksOf('text/event-stream', pieces)).toEqual(events);
  });

  it('is one chunk where it is JSON, and a chunk for each line of JSON', () => {
    const pieces = [
      [1, '{}\n{'],
      [2, '}\n'],
    ] as const;
    expect(chunksOf('application/json', pieces)).toEqual([[2, '{}\n{}\n']]);
    for (const type of ['application/x-ndjson', 'application/jsonl', 'application/stream+json'])
      expect(chunksOf(type, pieces)).toEqual([
        [1, '{}\n'],
        [2, '{}\n'],
      ]);
  });
});
