import { PassThrough, Writable } from 'node:stream';
import { describe, expect, it, vi } from 'vitest';
import { doctor } from '../../../../src/tools/doctor/doctor-command.ts';
import { helpText } from '../../../../src/tools/doctor/doctor-options.ts';
import { type Behaviour, withServer } from '../../../support/probed-server.ts';
import { type DoctorReport, runDoctor, runDoctorJson } from '../../../support/run-doctor.ts';

const key = 'sk-very-secret-0123456789';

describe('without a model', () => {
  const listing = (names: readonly string[]): Behaviour => ({
    respond: () => ({ status: 200, body: JSON.stringify({ data: names.map((id) => ({ id })) }) }),
  });
  const numbered = (count: number) => Array.from({ length: count }, (_name, index) => `m${index}`);
  const missing = '--model is missing. Give the name that the server uses for the model.';
  it.each<[name: string, names: readonly string[], known: string]>([
    ['none is known where there is none', [], ''],
    ['two are listed', ['a', 'b'], ' The server has: a, b.'],
    ['twenty are listed', numbered(20), ` The server has: ${numbered(20).join(', ')}.`],
    ['more are counted', numbered(23), ` The server has: ${numbered(20).join(', ')} and 3 more.`],
    ['the key is none of them', ['a', key], ' The server has: a, [key].'],
  ])('%s', async (_name, names, known) => {
    const run = await withServer(listing(names), (_server, url) => runDoctor([url, '--key', key]));
    expect(run).toEqual({ code: 2, out: '', err: `${missing}${known} Run with --help to see the options.\n` });
  });

  it('none is known where the list is none', async () => {
    const run = await withServer({ respond: () => ({ status: 500, body: '' }) }, (_server, url) => runDoctor([url]));
    expect(run.err).toBe(`${missing} Run with --help to see the options.\n`);
  });
});

it('help is printed alone, and wrong usage told with it', async () => {
  expect(await runDoctor(['-h'])).toEqual({ code: 0, out: helpText, err: '' });
  expect(await runDoctor([])).toEqual({
    code: 2,
    out: '',
    err: 'The URL of the server is missing. Run with --help to see the options.\n',
  });
});

describe('what is written', () => {
  const few = ['--model', 'm', '--max-requests', '1'];
  const announced = (url: string) =>
    new RegExp(
      `^Probing ${url}/v1/chat/completions with the model m\\.\\nAt most 1 requests, .* in at most 900 s\\..*\\n`,
    );

  it('is the report, and beside it what is asked', async () => {
    await withServer({}, async (_server, url) => {
      const { out, err } = await runDoctor([url, ...few]);
      expect(out).toMatch(announced(url));
      expect(out).toContain('\n\n  probe ');
      expect(err).toMatch(/^1\/\d+ models: the list of models\n$/);
    });
  });

  it('in JSON is the report alone', async () => {
    await withServer({}, async (_server, url) => {
      const { report, err } = await runDoctorJson([url, ...few]);
      expect(report.spent.requests).toBe(1);
      expect(err).toMatch(/^Probing .*\n.*\n1\/\d+ models: the list of models\n$/);
      expect(err).toMatch(announced(url));
    });
  });

  it('shows no part of the URL that may be a key', async () => {
    await withServer({}, async (_server, url) => {
      const { out } = await runDoctor([`${url}/v1?key=secret`, ...few]);
      expect(out).not.toContain('secret');
    });
  });
});

/** Runs it with a terminal on both sides, which answers each question with that; time passes where the server hangs. */
async function atTerminal(answer: string, { isTyped = true, isShown = true } = {}) {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  const behaviour: Behaviour = {
    hangs({ logprobs }) {
      if (logprobs) vi.advanceTimersByTime(60_000);
      return logprobs === true;
    },
  };
  const stdin = Object.assign(new PassThrough(), { isTTY: isTyped });
  let screen = '';
  let out = '';
  const stderr = Object.assign(
    new Writable({
      write(piece, _encoding, done) {
        screen += String(piece);
        if (String(piece).includes('[y/N] ')) stdin.write(answer);
        done();
      },
    }),
    { isTTY: isShown },
  );
  const stdout = new Writable({
    write(piece, _encoding, done) {
      out += String(piece);
      done();
    },
  });
  const listeners = () => process.listenerCount('SIGINT');
  const before = listeners();
  try {
    const code = await withServer(behaviour, (_server, url) =>
      doctor([url, '--model', 'm', '--timeout', '60', '--json'], { env: {}, stdin, stdout, stderr } as never),
    );
    return { code, screen, report: JSON.parse(out) as DoctorReport, stdin, isClean: listeners() === before };
  } finally {
    vi.useRealTimers();
  }
}

describe('after a timeout', () => {
  const question = /\nlogprobs: no complete answer within 60 s\. Go on\? \[y\/N\] /;

  it.each(['y\n', 'Yes\n', '  y\n'])('a terminal that says %j lets the run go on', async (answer) => {
    const { screen, report, stdin, isClean } = await atTerminal(answer);
    expect(screen.match(new RegExp(question, 'g'))).toHaveLength(1);
    expect([report.stopped, isClean, stdin.isPaused()]).toEqual([null, true, true]);
  });

  it.each(['n\n', '\n', 'ok, y\n'])('a terminal that says %j ends it', async (answer) => {
    const { screen, report, stdin, isClean } = await atTerminal(answer);
    expect(screen).toMatch(question);
    expect(report.stopped).toMatch(/^The server is too slow, or silent, at logprobs/);
    expect([isClean, stdin.isPaused()]).toEqual([true, true]);
  });

  it('Ctrl-C at the question ends the run', async () => {
    // The terminal is raw then: it is a character.
    const { report, isClean } = await atTerminal('\u0003y\n');
    expect(report.stopped).toMatch(/^The server is too slow, or silent, at logprobs/);
    expect(isClean).toBe(true);
  });

  it.each([
    ['nobody can type', { isTyped: false }],
    ['nobody can read', { isShown: false }],
  ])('nothing is asked where %s', async (_name, terminal) => {
    const { screen, report } = await atTerminal('y\n', terminal);
    expect(screen).not.toContain('[y/N]');
    expect(report.stopped).toMatch(/^The server is too slow/);
  });
});

it('a line of progress takes the place of the one before it, and is gone at the end, in a terminal alone', async () => {
  const { screen } = await atTerminal('n\n');
  expect(screen).toContain('\r\u001b[K1/');
  expect(screen.endsWith('\r\u001b[K')).toBe(true);
  expect((await atTerminal('', { isShown: false })).screen).not.toContain('\u001b');
});
