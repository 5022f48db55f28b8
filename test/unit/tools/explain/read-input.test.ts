import { spawnSync } from 'node:child_process';
import { createWriteStream, mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, describe, expect, it } from 'vitest';
import { readInput, readRecordedAnswer, readRequest } from '../../../../src/tools/explain/read-input.ts';
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

it('a file may have 256 MiB, of which none is read if it has more', async () => {
  const path = join(folder, 'large');
  writeFileSync(path, '');
  truncateSync(path, 2 ** 28 + 1);
  await expect(readInput(path, stdin())).rejects.toThrow(`${path} cannot be read: it is larger than 268435456 bytes`);
});

it.each([
  ...['{}', '[]', '1', '-1', '"a"', 'true', 'false', 'null', ' \n {"a":1}\n', '\ufeff{}'].map((text) => [
    text,
    'application/json',
  ]),
  ...['', 'data: {}', 'true x', 'nul', 'x{}', '{"a":1', '{a}\n{"a":1}', '{\n}x'].map((text) => [
    text,
    'text/event-stream',
  ]),
  ...['{"a":1}\n{"a":2}', '\n {"a":1}\n{', '{"a":1}\nx'].map((text) => [text, 'application/x-ndjson']),
] as const)('the answer %j is of the type %s', (text, type) => {
  const { status, headers } = readRecordedAnswer(Buffer.from(text), 299);
  expect([status, [...headers]]).toEqual([299, [['content-type', type]]]);
});

it('events end with an empty line of any kind, and with the text', () => {
  const text = 'data: 1\r\n\r\ndata: 2\n\ndata: 3\r\rdata: 4\ndata: 5';
  const { chunks } = readRecordedAnswer(Buffer.from(text), 200);
  expect(chunks.map(({ bytes }) => bytes.toString())).toEqual([
    'data: 1\r\n\r\n',
    'data: 2\n\n',
    'data: 3\r\r',
    'data: 4\ndata: 5',
  ]);
  expect(readRecordedAnswer(Buffer.from('data: 1\n\n'), 200).chunks).toHaveLength(1);
});

describe('a request is read from', () => {
  const read = (value: unknown, path = '/v1/responses') => {
    const { request, ...rest } = readRequest(
      Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)),
      path,
    );
    return { ...rest, ...request, headers: [...request.headers], body: request.body.toString() };
  };
  const alone = { profile: null, startedAt: null, answer: null };
  const json = [['content-type', 'application/json']];

  it.each<[name: string, value: unknown, expected: object]>([
    ['its body alone', '{"model":1}', { method: 'POST', path: '/v1/responses', headers: json, body: '{"model":1}' }],
    [
      'what has no body',
      { path: '/p' },
      { method: 'POST', path: '/v1/responses', headers: json, body: '{"path":"/p"}' },
    ],
    [
      'what has a path that is none',
      { path: 7, body: 1 },
      { method: 'POST', path: '/v1/responses', headers: json, body: '{"path":7,"body":1}' },
    ],
    ['its path and body', { path: '/p', body: { a: 1 } }, { method: 'POST', path: '/p', headers: [], body: '{"a":1}' }],
    [
      'all of it',
      { method: 'PUT', path: '/p', headers: { 'X-A': 1, 'x-a': 'b', ':path': '/q' }, body: 'text' },
      { method: 'PUT', path: '/p', headers: [['x-a', '1, b']], body: 'text' },
    ],
    [
      'a method that is none',
      { method: 7, path: '/p', body: '' },
      { method: 'POST', path: '/p', headers: [], body: '' },
    ],
  ])('%s', (_name, value, expected) => {
    expect(read(value)).toEqual({ ...alone, ...expected });
  });

  it('nothing for the catalog, which has no body', () => {
    const path = '/v1/models?client_version=1';
    expect(read('{}', path)).toEqual({ ...alone, method: 'GET', path, headers: [], body: '' });
  });

  it('an exchange, with its profile, its time and its answer', () => {
    const part = (headers: readonly (readonly [string, string])[]) => headers.map(([name, value]) => ({ name, value }));
    const file = {
      ...exchangeFileHead,
      ...{ profile: 'vllm', started_at: '2026-11-22T00:00:01.900Z', outcome: 'completed', error: null, dropped: [] },
      client_request: { method: 'PUT', path: '/p', headers: part([['X-A', '1']]), base64: 'aGk=' },
      ...{ chat_request: null, client_response: null, chat_response: null },
    };
    const expected = {
      profile: 'vllm',
      startedAt: 1795305601,
      method: 'PUT',
      path: '/p',
      headers: [['x-a', '1']],
      body: 'hi',
    };
    expect(read(file)).toEqual({ ...expected, answer: null });
    const pieces = [
      { at_ms: 1, text: 'a\n\n' },
      { at_ms: 2, text: 'b' },
    ];
    const answered = (headers: readonly (readonly [string, string])[]) =>
      read({ ...file, chat_response: { status: 201, headers: part(headers), pieces } }).answer?.chunks.map(
        ({ bytes }) => `${bytes}`,
      );
    expect(answered([['Content-Type', 'text/event-stream']])).toEqual(['a\n\n', 'b']);
    expect(answered([['content-type', 'application/json']])).toEqual(['a\n\nb']);
    expect(
      answered([
        ['content-type', 'application/json'],
        ['content-encoding', 'identity'],
      ]),
    ).toEqual(['a\n\nb']);
    expect(
      answered([
        ['content-type', 'application/json'],
        ['content-encoding', 'gzip'],
      ]),
    ).toEqual(['a\n\n', 'b']);
    expect(answered([])).toEqual(['a\n', '\n', 'b']);
  });
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
  expect(readRequest(file(10), '/v1/responses').request.path).toBe('/v1/other');
  const rich = file(5_000_000);
  const { path, body } = readRequest(rich, '/v1/responses').request;
  expect({ path, isAsGiven: body === rich }).toEqual({ path: '/v1/responses', isAsGiven: true });
});

it('a request without headers is JSON, whatever its path', () => {
  const { method, headers } = readRequest(Buffer.from('{"model":"m"}'), '/v1/responses/compact').request;
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
    const read = readRecordedAnswer(Buffer.from(JSON.stringify(file)), 200);
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
