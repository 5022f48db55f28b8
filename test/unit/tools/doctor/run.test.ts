import { describe, expect, it } from 'vitest';
import { diagnose } from '../../../../src/tools/doctor/doctor-command.ts';
import type { Answer, Probe } from '../../../../src/tools/doctor/findings.ts';
import { allProbes } from '../../../../src/tools/doctor/probes/all-probes.ts';
import { maxOverflowTokens } from '../../../../src/tools/doctor/probes/limit-probes.ts';
import { computeWorstCase, type Limits, runProbes } from '../../../../src/tools/doctor/run-probes.ts';
import { json, plainAnswer, said } from '../../../support/doctor-answers.ts';

const url = new URL('http://127.0.0.1/v1/chat/completions');
const hello = said({ content: 'hello' });
const plenty: Limits = { requests: 1000, tokensPerRequest: 512, tokens: 1e6, seconds: 900 };

const nothing = { path: 'chat' } as const;
/** A probe that sends these bodies, and is content with any answer. */
function probe(changes: Partial<Probe> & { readonly bodies?: readonly (object | null)[] } = {}): Probe {
  const { bodies = [{ model: 'm' }], ...rest } = changes;
  return {
    ...{ name: 'probe', group: 'fields', asks: 'something', requests: bodies.length, tokens: 'few', means: {} },
    request: () => bodies.map((body) => (body === null ? nothing : { ...nothing, body })),
    judge: (answers) => ({ result: 'works', detail: answers.map(({ status }) => status).join(' ') }),
    ...rest,
  };
}

/** A run of these probes which get these answers, the last one again and again. */
async function runOf(probes: readonly Probe[], answers: readonly Partial<Answer>[], how: object = {}) {
  const {
    limits = plenty,
    hasKey = true,
    at = url,
    model = 'm',
    ...parts
  } = how as {
    readonly limits?: Limits;
    readonly hasKey?: boolean;
    readonly at?: URL;
    readonly model?: string;
  };
  const asked: string[] = [];
  const seen: string[] = [];
  let sent = 0;
  const run = await runProbes(probes, { model, hasKey, url: at }, limits, {
    send(_request, { probe: name, index }) {
      seen.push(`${name} ${index}`);
      const answer = answers[Math.min(sent, answers.length - 1)];
      sent += 1;
      return Promise.resolve({ ...plainAnswer, ...answer });
    },
    yieldToOthers: () => Promise.resolve(),
    now: () => 0,
    onProbe: () => {},
    explainAddress: ({ status }) => Promise.resolve(`WHY ${status}`),
    goOn(what) {
      asked.push(what);
      return Promise.resolve(true);
    },
    ...parts,
  });
  return { ...run, asked, seen };
}

describe('what a run may spend', () => {
  const probes = [
    probe({ bodies: [{}, {}], tokens: 'none' }),
    probe({ bodies: [{}] }),
    probe({ bodies: [{}, {}], tokens: 'many' }),
  ];

  it('is what its probes may, and no more than the limits', () => {
    const inputTokens = 3 * 200 + maxOverflowTokens;
    expect(computeWorstCase(probes, plenty)).toEqual({ requests: 5, inputTokens, outputTokens: 16 + 512 + 16 });
    const less = { ...plenty, requests: 4, tokens: (inputTokens + 544) / 2 };
    expect(computeWorstCase(probes, less)).toEqual({ requests: 4, inputTokens: inputTokens / 2, outputTokens: 272 });
    expect(computeWorstCase(probes, { ...plenty, tokens: 100 })).toEqual({
      requests: 5,
      inputTokens: 95,
      outputTokens: 4,
    });
  });

  it('is looked at before each probe: the last request is made', async () => {
    const two = probe({ bodies: [{}, {}] });
    const limits = { ...plenty, requests: 4 };
    const { findings, spent, ranOut } = await runOf([two, { ...two, name: 'b' }, { ...two, name: 'c' }], [hello], {
      limits,
    });
    expect([...findings.values()].map(({ detail }) => detail)).toEqual([
      '200 200',
      '200 200',
      'the requests are used up (--max-requests)',
    ]);
    expect([spent.requests, ranOut]).toEqual([4, 'the requests are used up (--max-requests)']);
  });

  // A token is four bytes of JSON, of which `{"max_tokens":30}` has 17.
  const sized = (name: string) => probe({ name, bodies: [{ max_tokens: 30 }] });
  it.each([
    [70, 'works works'],
    [69, 'works not_tested'],
    [35, 'works not_tested'],
    [34, 'not_tested not_tested'],
  ])('of %i tokens it takes what fits', async (tokens, results) => {
    const answers = [{ outcome: 'timed_out' as const, status: 0 }];
    const run = await runOf([sized('a'), sized('b')], answers, { limits: { ...plenty, tokens } });
    expect([...run.findings.values()].map(({ result }) => result).join(' ')).toBe(results);
  });

  it.each([
    ['none, as none has passed', 0, 'works'],
    ['all of it', 9000, 'works'],
    ['more', 9001, 'not_tested'],
  ])('of the time %s', async (_name, later, result) => {
    let time = 5;
    const limits = { ...plenty, seconds: 9 };
    const { findings } = await runOf([probe()], [hello], {
      limits,
      now() {
        const now = time;
        time = 5 + later;
        return now;
      },
    });
    expect(findings.get('probe')?.result).toBe(result);
  });
});

describe('what a question costs', () => {
  const usage = (prompt_tokens: number, completion_tokens: number) =>
    said({ content: 'x' }, {}, { prompt_tokens, completion_tokens, total_tokens: 0 });
  const timedOut: Partial<Answer> = { outcome: 'timed_out', status: 0 };
  it.each<[name: string, body: object | null, answer: Partial<Answer>, cost: readonly number[]]>([
    ['nothing where it has no body', null, hello, [0, 0]],
    ['what the server counts', { max_tokens: 30 }, usage(7, 8), [7, 8]],
    ['an estimate where it counts nothing', { max_tokens: 30 }, usage(0, 0), [5, 30]],
    ['an estimate where it says nothing', { max_completion_tokens: 40 }, hello, [7, 40]],
    ['the newer limit of two', { max_tokens: 30, max_completion_tokens: 40 }, hello, [11, 40]],
    ['the prompt alone without a limit', {}, hello, [1, 0]],
    ['all that was asked for, after a timeout', { max_tokens: 30 }, timedOut, [5, 30]],
    ['nothing at an error', { max_tokens: 30 }, { status: 400 }, [0, 0]],
    ['nothing where the answer is broken', { max_tokens: 30 }, { body: '' }, [0, 0]],
  ])('%s', async (_name, body, answer, cost) => {
    const { spent } = await runOf([probe({ bodies: [body] })], [answer]);
    expect(spent).toEqual({ requests: 1, inputTokens: cost[0], outputTokens: cost[1] });
  });
});

describe('a run goes on', () => {
  const server = probe({ name: 'models', group: 'server' });
  const software = probe({ name: 'software', group: 'server' });
  const expecting = probe({ expectsRefusal: true });
  const gone = (reason: string): Partial<Answer> => ({ outcome: 'unreachable', status: 0, reason });
  it.each<[name: string, probes: readonly Probe[], answers: readonly Partial<Answer>[], how?: object]>([
    ['after a refusal', [probe()], [{ status: 400 }]],
    ['after a 299', [probe()], [{ status: 299 }]],
    ['after a list that redirects', [server], [{ status: 301 }]],
    ['after a list that is not for this key', [server], [{ status: 401 }]],
    ['after a list of too many requests', [server], [{ status: 429 }]],
    ['after a path that needs a key, where there is none', [software], [{ status: 401 }], { hasKey: false }],
    ['after the wrong key was refused', [expecting], [{ status: 401 }]],
    ['after a connection was cut, if others were not', [probe(), probe()], [hello, gone('ECONNRESET')]],
    ['after no connection was to be had for what need not be there', [software], [gone('ECONNREFUSED')]],
  ])('%s', async (_name, probes, answers, how) => {
    expect((await runOf(probes, answers, how)).stopped).toBeNull();
  });
});

describe('a run ends', () => {
  const list = probe({ name: 'models', group: 'server' });
  const gone = (reason: string): Partial<Answer> => ({ outcome: 'unreachable', status: 0, reason });
  const text = probe({ name: 'text', judge: () => ({ result: 'refused', detail: 'no' }) });
  const keyIsMissing = 'the key is missing or wrong. Give it with --key, or in the variable that --key-env names';
  const others = probe({
    name: 'models',
    judge: () => ({ result: 'ignored', detail: 'x', facts: { otherModels: ['gpt-oss', 'llama', 'Qwen3-8b', 'quen'] } }),
  });
  it.each<[stopped: string, probes: readonly Probe[], answers: readonly Partial<Answer>[], how?: object]>([
    [
      'The server redirects (300) to nowhere: give that URL if it is the right one. The key is not sent there.',
      [probe()],
      [{ status: 300 }],
    ],
    [
      'The server redirects (399) to http://b.test: give that URL if it is the right one. The key is not sent there.',
      [probe()],
      [{ status: 399, location: 'http://b.test' }],
    ],
    [
      `Status 401: ${keyIsMissing}. The server says: No.`,
      [probe()],
      [json({ error: { message: 'No.' } }, { status: 401 })],
    ],
    [`Status 403: ${keyIsMissing}. The server says: without a message`, [list], [{ status: 403 }], { hasKey: false }],
    [
      'Status 403: the key may not do this. The server says: without a message',
      [probe()],
      [{ status: 403, retryAfter: '1' }],
    ],
    [
      'Status 429 (retry-after: 7 s): too many requests, or a quota is used up. Try again later. The server says: x',
      [probe({ expectsRefusal: true })],
      [{ status: 429, retryAfter: '7\u0000s', body: '{"error":{"message":"x"}}' }],
    ],
    [
      'The server cannot be reached, at probe: it closed the connection without an answer (ECONNRESET). If it speaks TLS on that port, try https://127.0.0.1/v1/chat/completions',
      [probe()],
      [gone('ECONNRESET')],
    ],
    [
      'The server cannot be reached, at probe: nothing listens at 127.0.0.1:80 (ECONNREFUSED). Start the server, or correct the address.',
      [probe(), probe()],
      [hello, gone('ECONNREFUSED')],
    ],
    ['The server does not answer a plain question: no', [text], [{ status: 400 }]],
    ['The server does not answer a plain question: no. WHY 404', [text], [{ status: 404 }]],
    ['The server does not answer a plain question: no. WHY 200', [text], [{ contentType: 'text/html' }]],
    ['The server does not answer a plain question: no', [text], [{ status: 404, body: 'no such model' }]],
    [
      'The server has no model qwen: no. It has: Qwen3-8b, quen, llama, gpt-oss.',
      [others, text],
      [hello, { status: 404 }],
      { model: 'qwen' },
    ],
  ])('%s', async (stopped, probes, answers, how) => {
    const run = await runOf([...probes, probe({ name: 'next' })], answers, how);
    expect(run.stopped).toBe(stopped);
    expect(run.findings.get('next')).toEqual({ result: 'not_tested', detail: 'not reached' });
    expect([...run.findings.values()].map(({ result }) => result)).not.toContain('broken');
  });

  it('within a probe, whose other requests are not made', async () => {
    const run = await runOf([probe({ bodies: [{}, {}, {}] })], [hello, { status: 402 }]);
    expect(run.seen).toEqual(['probe 0', 'probe 1']);
    expect(run.findings.get('probe')).toMatchObject({
      result: 'not_tested',
      detail: expect.stringMatching(/^Status 402/),
    });
  });

  it('not where the whole answer was reasoning: only the server’s parser is wrong', async () => {
    const reasoned = probe({
      name: 'text',
      judge: () => ({ result: 'broken', detail: 'x', facts: { reasoningOnly: true } }),
    });
    expect((await runOf([reasoned], [hello])).stopped).toBeNull();
  });

  it('when it is interrupted', async () => {
    const run = await runOf([probe()], [hello], { signal: AbortSignal.abort() });
    expect([run.stopped, run.seen]).toEqual(['Interrupted.', ['probe 0']]);
  });
});

describe('a timeout', () => {
  const late: Partial<Answer> = { outcome: 'timed_out', status: 0, reason: 'no complete answer within 9 s' };
  it('is asked about once', async () => {
    const run = await runOf([probe({ name: 'a' }), probe({ name: 'b' })], [late]);
    expect(run.asked).toEqual(['a: no complete answer within 9 s, although the connection was taken']);
    expect([run.stopped, run.seen]).toEqual([null, ['a 0', 'b 0']]);
  });

  it('of a path that need not answer is nothing to ask about', async () => {
    const run = await runOf([probe({ name: 'software', group: 'server' }), probe({ name: 'b' })], [late]);
    expect(run.asked).toEqual(['b: no complete answer within 9 s, although the connection was taken']);
  });

  it('after an answer ends the run, if nobody wants to go on', async () => {
    const run = await runOf([probe({ bodies: [{}, {}] })], [hello, late], { goOn: () => Promise.resolve(false) });
    expect(run.stopped).toBe(
      'The server is too slow, or silent, at probe: no complete answer within 9 s. Is it still loading, or another kind of server? With --keep-going the run goes on after a timeout; --timeout waits longer for the model.',
    );
    expect(run.spent.requests).toBe(2);
  });
});

it('a detail is one line of at most 300 characters', async () => {
  const long = probe({ judge: () => ({ result: 'works', detail: `a\u001b\n${'b'.repeat(300)}` }) });
  expect((await runOf([long], [hello])).findings.get('probe')?.detail).toBe(`a ${'b'.repeat(298)}…`);
});

it('each probe is announced by its place, and judged by what is known of the model', async () => {
  const lines: string[] = [];
  const known: unknown[] = [];
  const watched = probe({
    judge(_answers, { findings, ...rest }) {
      known.push({ ...rest, found: [...findings.keys()] });
      return { result: 'works', detail: '' };
    },
  });
  await runOf([probe({ name: 'skipped', request: () => 'not needed' }), watched], [hello], {
    onProbe: ({ name }: Probe, index: number) => lines.push(`${index} ${name}`),
  });
  expect(lines).toEqual(['1 probe']);
  expect(known).toEqual([{ model: 'm', hasKey: true, manyTokens: 512, url, found: ['skipped'] }]);
});

it.each([
  ['http://example.test/v1', 'sk-1', true],
  ['http://example.test/v1', null, false],
  ['https://example.test/v1', 'sk-1', false],
  ['http://localhost/v1', 'sk-1', false],
  ['http://127.9.9.9:80/v1', 'sk-1', false],
  ['http://[::1]/v1', 'sk-1', false],
  ['http://127.example.test/v1', 'sk-1', true],
])('a key that travels to %s (%s) is warned about: %s', async (base, key, isWarned) => {
  const chatUrl = new URL(`${base}/chat/completions`);
  const progress: string[] = [];
  const { warnings } = await diagnose({ chatUrl, model: 'm', key, limits: plenty }, () => Promise.resolve(hello), {
    onProgress: (line) => progress.push(line),
    goOn: () => Promise.resolve(true),
  });
  expect(warnings.some((warning) => warning.startsWith('The key travels unencrypted'))).toBe(isWarned);
  expect(progress[0]).toBe(`1/${allProbes.length} models: the list of models`);
});

it.each([
  ['works', 'works', { max_tokens: 512 }],
  ['accepted', 'works', { max_completion_tokens: 512 }],
  ['ignored', 'accepted', { max_completion_tokens: 512 }],
  ['ignored', 'ignored', { max_tokens: 512 }],
  ['ignored', 'refused', { max_tokens: 512 }],
  ['refused', 'ignored', {}],
  ['refused', 'refused', {}],
] as const)('where max_tokens is %s and max_completion_tokens %s, a question has %j', async (older, newer, sent) => {
  const usage = { prompt_tokens: 1, completion_tokens: 99, total_tokens: 100 };
  const answers = {
    works: said({ content: 'one' }, { finish_reason: 'length' }),
    accepted: hello,
    ignored: said({ content: 'one two' }, {}, usage),
    refused: { ...plainAnswer, status: 400 },
  };
  let asked: object = {};
  await diagnose(
    { chatUrl: url, model: 'm', key: null, limits: plenty },
    ({ body }, { probe: name }) => {
      if (name === 'text') asked = body ?? {};
      if (/^max_tokens/.test(name)) return Promise.resolve(answers[older]);
      return Promise.resolve(/^max_completion_tokens/.test(name) ? answers[newer] : hello);
    },
    { onProgress: () => {}, goOn: () => Promise.resolve(true) },
  );
  const { model: _model, messages: _messages, ...limits } = asked as Readonly<Record<string, unknown>>;
  expect(limits).toEqual(sent);
});
