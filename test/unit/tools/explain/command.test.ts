import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { afterAll, expect, it } from 'vitest';
import { explain, helpText } from '../../../../src/tools/explain/explain-command.ts';
import { exchangeFileHead } from '../../../../src/tools/files/exchange-file.ts';

const folder = mkdtempSync(join(tmpdir(), 'responses-extproc-explain-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** What is written where nobody types, in the pieces in which it is written. */
async function atTerminal(args: readonly string[]) {
  const written = { out: [] as string[], err: [] as string[] };
  const sink = (name: 'out' | 'err') =>
    new Writable({
      write(piece, _encoding, done) {
        written[name].push(String(piece));
        done();
      },
    }) as NodeJS.WriteStream;
  const stdin = Object.assign(Readable.from([]), { isTTY: true }) as NodeJS.ReadStream;
  const code = await explain(args, { env: {}, stdin, stdout: sink('out'), stderr: sink('err') });
  return { code, ...written };
}

function fileOf(name: string, content: unknown): string {
  const path = join(folder, name);
  writeFileSync(path, JSON.stringify(content));
  return path;
}

const answer = { choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'Hi' } }] };
const saved = {
  ...exchangeFileHead,
  ...{ profile: 'vllm', started_at: '2026-11-22T00:00:00Z', outcome: 'completed', error: null, dropped: [] },
  client_request: { method: 'POST', path: '/v1/responses', headers: [], body: '{"model":"m","input":"Hi"}' },
  ...{ chat_request: null, client_response: null },
  chat_response: { status: 200, headers: [], pieces: [{ at_ms: 1, text: JSON.stringify(answer) }] },
};

it.each([[[]], [['-']], [['--response', fileOf('answer.json', answer)]]])(
  'at a terminal, a request is asked for, not waited for: %j',
  async (args) => {
    const { code, out, err } = await atTerminal(args);
    expect([code, out]).toEqual([2, []]);
    expect(err.join('')).toBe(
      'explain: No request was given: name a file, or pass it on standard input. Run explain --help to see how it is used.\n',
    );
  },
);

it.each([
  [['--path', '/v1/models?client_version=1'], 'GET /v1/models'],
  [['--response', fileOf('saved.json', saved)], 'profile vllm'],
  [[fileOf('request.json', { model: 'm', input: 'Hi' })], 'POST /v1/responses'],
])('at a terminal, no request is missing where there is one, or none is needed: %j', async (args, text) => {
  const { code, out, err } = await atTerminal(args);
  expect([code, err]).toEqual([0, []]);
  expect(out.join('')).toContain(text);
});

it('help is printed alone', async () => {
  for (const args of [['-h'], ['--help', 'file']])
    expect(await atTerminal(args)).toEqual({ code: 0, out: [helpText], err: [] });
});

it('what is long is written piece by piece, and whole', async () => {
  const deltas = Array.from({ length: 800 }, (_, index) => ({
    choices: [{ index: 0, delta: { content: `${index} ` } }],
  }));
  const stream = deltas.map((delta) => `data: ${JSON.stringify(delta)}\n\n`).join('');
  const file = join(folder, 'answer.sse');
  writeFileSync(file, `${stream}data: [DONE]\n\n`);
  const request = fileOf('stream.json', { model: 'm', input: 'Hi', stream: true });
  const { out } = await atTerminal([request, '--response', file, '--json']);
  expect(out.length).toBeGreaterThan(1);
  for (const piece of out.slice(0, -1)) expect(piece.length).toBeGreaterThanOrEqual(256 * 1024);
  expect(JSON.parse(out.join('')).answer.chunks).toHaveLength(801);
});

it('a defect is thrown, not told as a mistake of the user', async () => {
  const defect = new TypeError('a defect');
  const stdout = {
    write() {
      throw defect;
    },
  } as unknown as NodeJS.WriteStream;
  const stdin = Readable.from([]) as unknown as NodeJS.ReadStream;
  await expect(explain(['--help'], { env: {}, stdin, stdout, stderr: stdout })).rejects.toBe(defect);
});
