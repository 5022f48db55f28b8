import dns from 'node:dns';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer as createTcp } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { readProfilesFile } from '../../../../src/filter/upstream/profiles-file.ts';
import { type Answer, fewTokens, type Probe } from '../../../../src/tools/doctor/findings.ts';
import { allProbes } from '../../../../src/tools/doctor/probes/all-probes.ts';
import { maxOverflowTokens } from '../../../../src/tools/doctor/probes/limit-probes.ts';
import { computeWorstCase, runProbes } from '../../../../src/tools/doctor/run-probes.ts';
import { type Behaviour, type ProbedBody, startProbedServer, withServer } from '../../../support/probed-server.ts';
import { runDoctor, runDoctorJson } from '../../../support/run-doctor.ts';

const nothing: Answer = {
  ...{ outcome: 'unreachable', status: 0, contentType: null, keepAlive: null, retryAfter: null, location: null },
  ...{ body: '', reason: '', milliseconds: 0 },
};

const key = 'sk-very-secret-0123456789';

const hasLogprobs = (body: ProbedBody) => body.logprobs === true;
const hasTools = (body: ProbedBody) => body.tools !== undefined;

function failing(status: number, headers: Readonly<Record<string, string>> = {}): Behaviour {
  const body = JSON.stringify({ error: { message: `Incorrect key ${key}\u001b[31m, sorry.` } });
  return { respond: () => ({ status, headers, body }) };
}

describe('the run ends, with the reason,', () => {
  it.each([
    [401, {}, 'Status 401: the key is missing or wrong.'],
    [402, {}, 'Status 402: the account cannot pay'],
    [403, {}, 'Status 403: the key may not do this.'],
    [429, { 'retry-after': '30' }, 'Status 429 (retry-after: 30): too many requests'],
  ])('at a %i', async (status, headers, reason) => {
    await withServer(failing(status, headers), async (server, url) => {
      const { code, out } = await runDoctor([url, '--model', 'm', '--key', key]);
      expect(code).toBe(3);
      expect(out).toContain(reason);
      expect(server.requests.filter(({ body }) => body !== null).length).toBe(1);
    });
  });

  it.each([401, 403])('at the first request, where there is no key and the server answers %i', async (status) => {
    await withServer(failing(status), async (server, url) => {
      const { code, report } = await runDoctorJson([url, '--model', 'm']);
      expect(code).toBe(3);
      expect(report.stopped).toMatch(
        new RegExp(`^Status ${status}: the key is missing or wrong\\. Give it with --key`),
      );
      expect(server.requests.map(({ path }) => path)).toEqual(['/v1/models']);
      expect(new Set(report.findings.map(({ result }) => result))).toEqual(new Set(['not_tested']));
    });
  });

  it('and calls nothing ignored that was answered with a 401', async () => {
    await withServer(failing(401), async (_server, url) => {
      const { report } = await runDoctorJson([url, '--model', 'm', '--key', key]);
      expect(new Set(report.findings.map(({ result }) => result))).toEqual(new Set(['not_tested']));
      expect(report.findings.find(({ probe }) => probe === 'software')?.detail).toBe('status 401: access denied');
    });
  });

  it('when the server cannot be reached', async () => {
    const server = await startProbedServer();
    await server.close();
    const { code, report } = await runDoctorJson([`http://127.0.0.1:${server.port}`, '--model', 'm']);
    expect({ code, spent: report.spent.requests, profile: report.profile }).toEqual({
      code: 3,
      spent: 1,
      profile: null,
    });
    expect(report.stopped).toMatch(/cannot be reached.*ECONNREFUSED/);
  });

  it('when the plain question is refused, with the server’s words', async () => {
    await withServer(failing(404), async (_server, url) => {
      const { code, report } = await runDoctorJson([url, '--model', 'm']);
      expect(code).toBe(1);
      expect(report.stopped).toMatch(/does not answer a plain question: 404: Incorrect key/);
    });
  });

  it('not at the 401 that a wrong key is meant to get', async () => {
    const behaviour: Behaviour = {
      respond: (_path, _body, { headers }) =>
        headers.authorization === `Bearer ${key}` ? null : { status: 401, body: '{"error":{"message":"wrong key"}}' },
    };
    await withServer(behaviour, async (_server, url) => {
      const { code, report } = await runDoctorJson([url, '--model', 'm', '--key', key]);
      expect({ code, stopped: report.stopped }).toEqual({ code: 0, stopped: null });
      expect(report.findings.find(({ probe }) => probe === 'error_key')?.result).toBe('works');
    });
  });
});

/** For servers that let a request hang: time passes when one does, and not otherwise, so no other request takes too long. */
async function whereTimePassesAt(hangs: (body: ProbedBody) => boolean, run: (behaviour: Behaviour) => Promise<void>) {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  const passing: Behaviour = {
    hangs(body) {
      if (hangs(body)) vi.advanceTimersByTime(60_000);
      return hangs(body);
    },
  };
  try {
    await run(passing);
  } finally {
    vi.useRealTimers();
  }
}

describe('a run is bounded', () => {
  it('by what it says beforehand', async () => {
    await withServer({ reasoning: 'tags' }, async (server, url) => {
      const { out } = await runDoctor([url, '--model', 'm', '--max-tokens', '40']);
      const [, requests = 0, tokens = 0] = /At most (\d+) requests, (\d+) output tokens/.exec(out) ?? [];
      expect(server.requests.length).toBeGreaterThan(50);
      expect(server.requests.length).toBeLessThanOrEqual(Number(requests));
      const limits = server.requests.map(({ body }) => body?.max_tokens ?? body?.max_completion_tokens ?? 0);
      expect(limits.reduce((sum, limit) => sum + limit, 0)).toBeLessThanOrEqual(Number(tokens));
      expect(Math.max(...limits)).toBe(40);
    });
  });

  it('by a sum in which only questions to the model cost tokens', () => {
    const probe = (requests: number, tokens: Probe['tokens']): Probe => ({
      ...(allProbes[0] as Probe),
      requests,
      tokens,
    });
    const limits = { requests: 100, tokensPerRequest: 1000, tokens: 1e9, seconds: 1 };
    expect(computeWorstCase([probe(2, 'none'), probe(3, 'few'), probe(2, 'many')], limits)).toEqual({
      requests: 7,
      inputTokens: 5 * 200 + maxOverflowTokens,
      outputTokens: 1000 + 4 * fewTokens,
    });
  });

  it('by --max-requests', async () => {
    await withServer({}, async (server, url) => {
      const { code, report } = await runDoctorJson([url, '--model', 'm', '--max-requests', '9']);
      expect(server.requests.length).toBeLessThanOrEqual(9);
      expect(report.spent.requests).toBe(server.requests.length);
      expect(report.findings.at(-1)).toMatchObject({
        result: 'not_tested',
        detail: expect.stringContaining('--max-requests'),
      });
      expect(code).toBe(3);
      expect(report.verdict.failing).toContain('tool_call');
      const { out } = await runDoctor([url, '--model', 'm', '--max-requests', '9']);
      expect(out.replace(/\s+/g, ' ')).toContain(
        `Verdict: unknown, because ${report.verdict.failing.join(', ')} could not be tested.`,
      );
    });
  });

  it('by --max-total-tokens', async () => {
    await withServer({}, async (_server, url) => {
      const { report } = await runDoctorJson([url, '--model', 'm', '--max-total-tokens', '3000']);
      expect(report.spent.inputTokens + report.spent.outputTokens).toBeLessThanOrEqual(3000);
      expect(report.findings.map(({ detail }) => detail)).toContain('the tokens are used up (--max-total-tokens)');
    });
  });

  it('by --timeout, from which nothing follows for the profile', async () => {
    await whereTimePassesAt(hasLogprobs, (behaviour) =>
      withServer(behaviour, async (_server, url) => {
        const { report } = await runDoctorJson([url, '--model', 'm', '--timeout', '60', '--keep-going']);
        expect(report.findings.find(({ probe }) => probe === 'logprobs')).toMatchObject({
          result: 'not_tested',
          detail: expect.stringContaining('--timeout'),
        });
        expect(report.profile?.flags).toEqual([]);
      }),
    );
  });
});

it('a run begins no probe after --max-time', async () => {
  await whereTimePassesAt(hasTools, (behaviour) =>
    withServer(behaviour, async (_server, url) => {
      const { code, report } = await runDoctorJson([
        ...[url, '--model', 'm', '--timeout', '60', '--max-time', '60', '--keep-going'],
      ]);
      expect(report.findings.at(-1)?.detail).toBe('the time is used up (--max-time)');
      expect(code).toBe(3);
    }),
  );
});

it('an answer without end is not read to its end', async () => {
  const behaviour: Behaviour = {
    respond: (_path, body) => (body?.logprobs === true ? { status: 200, body: 'x'.repeat(9 * 1024 * 1024) } : null),
  };
  await withServer(behaviour, async (_server, url) => {
    const { report } = await runDoctorJson([url, '--model', 'm']);
    expect(report.findings.find(({ probe }) => probe === 'logprobs')).toMatchObject({
      result: 'broken',
      detail: 'an answer over 8 MiB',
    });
  });
});

describe('a server that is not what was meant is named soon, with the remedy:', () => {
  it('http where https was given', async () => {
    await withServer({}, async (server, url) => {
      const { report } = await runDoctorJson([url.replace('http:', 'https:'), '--model', 'm']);
      expect(report.stopped).toContain('does not speak TLS on that port');
      expect(report.stopped).toContain(`Try http://127.0.0.1:${server.port}/v1/chat/completions`);
      expect(report.spent.requests).toBe(1);
    });
  });

  it.each([
    ['http', 'models: no complete answer within 5 s, although the connection was taken'],
    ['https', 'does not speak TLS on that port (no TLS handshake)'],
  ])('silence on %s', async (scheme, reason) => {
    const silent = createTcp().listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const { port } = silent.address() as AddressInfo;
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    try {
      const run = runDoctorJson([`${scheme}://127.0.0.1:${port}/v1`, '--model', 'm', '--timeout', '5']);
      const [socket] = await once(silent, 'connection');
      await once(socket, 'data');
      vi.advanceTimersByTime(5000);
      const { code, report } = await run;
      expect({ code, requests: report.spent.requests }).toEqual({ code: 3, requests: 1 });
      expect(report.stopped).toContain(reason);
      expect(report.findings.map(({ result }) => result)).not.toContain('refused');
    } finally {
      vi.useRealTimers();
      silent.close();
    }
  });

  it('a host of which nothing is heard', async () => {
    const asked = Promise.withResolvers<void>();
    const lookup = vi.spyOn(dns, 'lookup').mockImplementation((() => asked.resolve()) as never);
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    try {
      const run = runDoctorJson(['http://chat.example/v1', '--model', 'm']);
      await asked.promise;
      vi.advanceTimersByTime(5000);
      expect((await run).report.stopped).toContain('no connection to chat.example:80 could be made (ETIMEDOUT)');
    } finally {
      vi.useRealTimers();
      lookup.mockRestore();
    }
  });

  it('another path', async () => {
    await withServer({}, async (_server, url) => {
      const elsewhere: Behaviour = { respond: () => ({ status: 404, body: '{"detail":"Not Found"}' }) };
      await withServer(elsewhere, async (_other, otherUrl) => {
        const { report } = await runDoctorJson([`${otherUrl}/api`, '--model', 'm']);
        expect(report.stopped).toMatch(
          /404: .* it has no \/api\/chat\/completions \(404\)\. The address must be the base URL of its Chat API/,
        );
      });
      expect((await runDoctorJson([url, '--model', 'm'])).report.stopped).toBeNull();
    });
  });
});

describe('the list of models is looked at first:', () => {
  const lists = (...names: string[]) => ({
    status: 200,
    body: JSON.stringify({ object: 'list', data: names.map((id) => ({ id })) }),
  });

  it('a name that is not in it, and that the server refuses, is no verdict on the server', async () => {
    const behaviour: Behaviour = {
      respond: (path, body) => {
        if (path === '/v1/models') return lists('gpt-oss-20b', 'qwen3-8b');
        return body?.model === 'qwen'
          ? { status: 404, body: '{"error":{"message":"The model qwen does not exist."}}' }
          : null;
      },
    };
    await withServer(behaviour, async (_server, url) => {
      const { code, report } = await runDoctorJson([url, '--model', 'qwen']);
      expect({ code, verdict: report.verdict.outcome, profile: report.profile }).toEqual({
        ...{ code: 4, verdict: 'no_such_model', profile: null },
      });
      expect(report.stopped).toMatch(/^The server has no model qwen: 404: .*exist\. It has: qwen3-8b, gpt-oss-20b\.$/);
      const { out } = await runDoctor([url, '--model', 'qwen']);
      expect(out).toContain('Verdict: none, because the server has no model of that name.');
    });
  });

  it('a server that answers to any name is probed', async () => {
    const behaviour: Behaviour = { respond: (path) => (path === '/v1/models' ? lists('qwen3-8b') : null) };
    await withServer(behaviour, async (_server, url) => {
      expect((await runDoctorJson([url, '--model', 'qwen'])).code).toBe(0);
    });
  });

  it('a server that loads its model is waited for', async () => {
    let asked = 0;
    const behaviour: Behaviour = {
      respond(path) {
        if (path !== '/v1/models') return null;
        asked += 1;
        return asked < 2 ? { status: 503, body: '{"error":{"message":"Loading model"}}' } : lists('m');
      },
    };
    await withServer(behaviour, async (_server, url) => {
      const { code, report, err } = await runDoctorJson([url, '--model', 'm']);
      expect({ code, stopped: report.stopped, asked }).toEqual({ code: 0, stopped: null, asked: 2 });
      expect(err).toMatch(/^The server is loading its model; waiting …\n/);
    });
  });

  it('a server that speaks the Responses API alone is named', async () => {
    const behaviour: Behaviour = {
      respond: (path) =>
        path === '/v1/responses'
          ? { status: 400, body: '{"error":{"message":"model: field required"}}' }
          : { status: 404, body: '{"detail":"Not Found"}' },
    };
    await withServer(behaviour, async (_server, url) => {
      const { code, report } = await runDoctorJson([url, '--model', 'm']);
      expect(code).toBe(1);
      expect(report.stopped).toContain(
        'It speaks the Responses API itself, at /v1/responses: you may not need this service.',
      );
    });
  });
});

describe('a timeout', () => {
  it('ends a run that nobody watches, unless it has --keep-going, and is no refusal', async () => {
    await whereTimePassesAt(hasLogprobs, (behaviour) =>
      withServer(behaviour, async (_server, url) => {
        const { code, report } = await runDoctorJson([url, '--model', 'm', '--timeout', '60']);
        expect(report.stopped).toMatch(/logprobs: no complete answer within 60 s\. .*--keep-going/);
        expect({ code, profile: report.profile }).toEqual({ code: 0, profile: null });
        expect(report.findings.find(({ probe }) => probe === 'logprobs')?.result).toBe('not_tested');
      }),
    );
  });

  it('of the list of models is not a refusal', async () => {
    const run = await runProbes(
      allProbes.slice(0, 1),
      { model: 'm', hasKey: false, url: new URL('http://127.0.0.1:1/v1/chat/completions') },
      { requests: 9, tokensPerRequest: 9, tokens: 9, seconds: 9 },
      {
        send: () => Promise.resolve({ ...nothing, outcome: 'timed_out', reason: 'no complete answer within 5 s' }),
        yieldToOthers: () => Promise.resolve(),
        now: () => 0,
        onProbe: () => {},
        goOn: () => Promise.resolve(true),
      },
    );
    expect(run.findings.get('models')).toMatchObject({ result: 'not_tested', detail: 'no complete answer within 5 s' });
  });
});

describe('a stream that takes long to read', () => {
  const chunk = `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: 'x' } }] })}\n\n`;
  const stream: Answer = {
    ...nothing,
    ...{ outcome: 'answered', status: 200, contentType: 'text/event-stream', body: chunk.repeat(10_000) },
  };
  /** Runs the first question to a model. `turns` is called at each turn of the others. */
  const run = (
    parts: Partial<Pick<Parameters<typeof runProbes>[3], 'now' | 'signal' | 'longestReadMs'>> & { turn?: () => void },
  ) =>
    runProbes(
      allProbes.filter(({ name }) => name === 'text'),
      { model: 'm', hasKey: false, url: new URL('http://127.0.0.1:1/v1/chat/completions') },
      { requests: 9, tokensPerRequest: 900, tokens: 90_000, seconds: 9 },
      {
        send: () => Promise.resolve({ ...stream }),
        now: () => 0,
        yieldToOthers: () => Promise.resolve(parts.turn?.()),
        onProbe: () => {},
        goOn: () => Promise.resolve(true),
        ...parts,
      },
    );

  it('is read in turns with timers and signals', async () => {
    let turns = 0;
    const { findings } = await run({ turn: () => (turns += 1) });
    expect([turns, findings.get('text')?.result]).toEqual([100, 'works']);
  });

  it('is given up when the time is over', async () => {
    let turns = 0;
    const { findings } = await run({ turn: () => (turns += 1), now: () => (turns < 5 ? 0 : 9001) });
    expect([turns, findings.get('text')?.detail]).toEqual([
      5,
      'its answer could not be read in the time that was left',
    ]);
  });

  it('is given up when it took as long as one answer may (--timeout)', async () => {
    let turns = 0;
    const { findings } = await run({ turn: () => (turns += 1), now: () => 10 * turns, longestReadMs: 40 });
    expect([turns, findings.get('text')?.detail]).toEqual([
      5,
      'its answer could not be read in the time that was left',
    ]);
  });

  it('is given up at Ctrl-C', async () => {
    const interrupted = new AbortController();
    const { stopped } = await run({ turn: () => interrupted.abort(), signal: interrupted.signal });
    expect(stopped).toBe('Interrupted.');
  });
});

it.each([
  ['--max-requests', '20'],
  ['--max-total-tokens', '3000'],
  ['--max-time', '60'],
])('no profile is written where %s ran out', async (limit, amount) => {
  const path = join(mkdtempSync(join(tmpdir(), 'doctor-')), 'profiles.yaml');
  await whereTimePassesAt(
    (body) => limit === '--max-time' && hasTools(body),
    (behaviour) =>
      withServer(behaviour, async (_server, url) => {
        const args = [url, '--model', 'm', limit, amount, '--save', path, '--timeout', '60', '--keep-going'];
        const { out, err } = await runDoctor(args);
        expect(out.replace(/\s+/g, ' ')).toContain(`No profile is proposed, because the run stopped early: the`);
        expect(out).toContain(limit);
        expect(err).toContain(`${path} was not written`);
        expect(existsSync(path)).toBe(false);
      }),
  );
});

it('a pipe shows what is asked, line by line', async () => {
  await withServer({}, async (_server, url) => {
    const { err } = await runDoctor([url, '--model', 'm', '--max-requests', '9']);
    expect(err).toMatch(/^1\/\d+ models: the list of models\n2\/\d+ software: /);
    expect(err).not.toContain('\u001b');
  });
});

describe('Ollama', () => {
  const listed = { object: 'list', data: [{ id: 'qwen3:latest', owned_by: 'library' }] };
  const ollama = (shown: object): Behaviour => ({
    respond(path) {
      const bodies: Record<string, object> = {
        '/v1/models': listed,
        '/api/version': { version: '0.9' },
        '/api/show': shown,
      };
      return bodies[path] === undefined ? null : { status: 200, body: JSON.stringify(bodies[path]) };
    },
  });

  it('knows a name without its tag, and tells the window that a Modelfile gives', async () => {
    const shown = { parameters: 'stop "<|im_end|>"\nnum_ctx                        8192', model_info: {} };
    await withServer(ollama(shown), async (_server, url) => {
      const { report } = await runDoctorJson([url, '--model', 'qwen3']);
      const found = (name: string) => report.findings.find(({ probe }) => probe === name);
      expect(found('models')?.result).toBe('works');
      expect(found('window')).toMatchObject({ result: 'works', detail: 'num_ctx 8192' });
      expect(report.warnings.join(' ')).toContain('8192');
    });
  });

  it('and says when none is given: the model’s own is not what it has', async () => {
    const shown = { parameters: '', model_info: { 'qwen3.context_length': 40960 } };
    await withServer(ollama(shown), async (_server, url) => {
      const { report } = await runDoctorJson([url, '--model', 'qwen3']);
      expect(report.findings.find(({ probe }) => probe === 'window')).toMatchObject({
        result: 'ignored',
        detail: 'no num_ctx; the model supports 40960',
      });
      expect(report.warnings.join(' ')).not.toContain('40960');
    });
  });
});

it('a question says that it is JSON, and what has no body does not', async () => {
  await withServer({}, async (server, url) => {
    await runDoctor([url, '--model', 'm', '--max-requests', '9']);
    const types = (isQuestion: boolean) =>
      server.requests
        .filter(({ body }) => (body !== null) === isQuestion)
        .map(({ headers }) => headers['content-type']);
    expect(new Set(types(true))).toEqual(new Set(['application/json']));
    expect(new Set(types(false))).toEqual(new Set([undefined]));
  });
});

describe('the key', () => {
  it('is sent to the server that was named, and to no other', async () => {
    await withServer({}, async (other, otherUrl) => {
      const redirect: Behaviour = {
        respond: () => ({ status: 307, headers: { location: `${otherUrl}/v1/chat/completions` }, body: '' }),
      };
      await withServer(redirect, async (server, url) => {
        const { code, report } = await runDoctorJson([url, '--model', 'm', '--key', key]);
        expect(code).toBe(3);
        expect(report.stopped).toContain(otherUrl);
        expect(server.requests[0]?.headers.authorization).toBe(`Bearer ${key}`);
        expect(other.requests).toEqual([]);
      });
    });
  });

  it.each([
    ['UPSTREAM_API_KEY', []],
    ['OTHER_KEY', ['--key-env', 'OTHER_KEY']],
  ])('is read from %s', async (variable, args) => {
    await withServer({}, async (server, url) => {
      await runDoctor([url, '--model', 'm', '--max-requests', '8', ...args], { [variable]: key, OPENAI_API_KEY: 'no' });
      expect(server.requests.map(({ headers }) => headers.authorization)).toContain(`Bearer ${key}`);
      expect(JSON.stringify(server.requests)).not.toContain('Bearer no');
    });
  });

  it.each([['--json'], []])('is never printed, nor are control characters of the server (%s)', async (...args) => {
    await withServer(failing(401), async (_server, url) => {
      const { out, err } = await runDoctor([url, '--model', 'm', '--key', key, ...args]);
      expect(out + err).toContain('Incorrect key [key]');
      expect(out + err).not.toContain(key);
      expect(out + err).not.toContain('\u001b');
    });
  });
});

describe('--save', () => {
  const folder = mkdtempSync(join(tmpdir(), 'doctor-'));

  it('writes a file that the service reads', async () => {
    const path = join(folder, 'profiles.yaml');
    const behaviour: Behaviour = { ignores: ['stop'] };
    const { out, err } = await withServer(behaviour, (_server, url) =>
      runDoctor([url, '-m', 'my/Model: 1', '-s', path]),
    );
    const profile = readProfilesFile(readFileSync(path, 'utf8'), path).get('probed-my-model-1');
    expect(profile?.refusedFields).toEqual(['stop']);
    expect(out).toContain('UPSTREAM_PROFILE=probed-my-model-1');
    expect(err).toContain(path);
    expect(out).toMatch(
      new RegExp(
        `UPSTREAM_PROFILES_FILE=${path} npm start -- --upstream http://\\S+/v1 --profile probed-my-model-1\n$`,
      ),
    );
  });

  it('overwrites nothing, and says so before anything is spent', async () => {
    const path = join(folder, 'mine.yaml');
    writeFileSync(path, 'mine');
    await withServer({}, async (server, url) => {
      expect(await runDoctor([url, '-m', 'm', '-s', path])).toMatchObject({
        code: 2,
        err: expect.stringContaining('exists'),
      });
      expect(server.requests).toEqual([]);
    });
    expect(readFileSync(path, 'utf8')).toBe('mine');
    expect(existsSync(join(folder, 'none'))).toBe(false);
    const missing = await runDoctor(['http://127.0.0.1:1', '-m', 'm', '-s', join(folder, 'none', 'x.yaml')]);
    expect(missing).toMatchObject({ code: 2, err: expect.stringContaining('does not exist') });
  });
});

describe('the command line', () => {
  it.each([
    [[], 'The URL of the server is missing'],
    [['http://x.test'], '--model is missing'],
    [['x.test:80', '-m', 'm'], 'is not a URL'],
    [['ftp://x.test', '-m', 'm'], 'is not a URL'],
    [['http://me:secret@x.test', '-m', 'm'], 'in the URL is not sent'],
    [['http://x.test', 'http://y.test', '-m', 'm'], 'Only one URL'],
    [['http://x.test', '-m', 'm', '--max-tokens', '0'], '--max-tokens must be'],
    [['http://x.test', '-m', 'm', '--max-time', 'soon'], '--max-time must be'],
    [['http://x.test', '-m', 'm', '--key', 'a b'], 'The key contains characters'],
    [['http://x.test', '-m', 'm', '--shine'], "Unknown option '--shine'"],
  ])('that is wrong is refused: %j', async (args, message) => {
    expect(await runDoctor(args)).toEqual({ code: 2, out: '', err: expect.stringContaining(message) });
  });

  it('without a model takes the only one of the server', async () => {
    const respond = (path: string) =>
      path.endsWith('/models') ? { status: 200, body: '{"object":"list","data":[{"id":"tiny"}]}' } : null;
    await withServer({ respond }, async (server, url) => {
      const { code, out } = await runDoctor([url]);
      expect(code).toBe(0);
      expect(out).toMatch(/^Probing \S+ with the model tiny\./);
      expect(new Set(server.requests.flatMap(({ body }) => body?.model ?? []))).toContain('tiny');
    });
  });

  it('has help that names every option and exit code', async () => {
    const { code, out } = await runDoctor(['--help']);
    expect(code).toBe(0);
    for (const option of [
      '--model',
      '--key',
      '--key-env',
      '--save',
      '--json',
      '--max-requests',
      '--max-tokens',
      '--max-total-tokens',
      '--max-time',
      '--timeout',
      '--keep-going',
    ])
      expect(out).toContain(option);
    for (const word of [
      'accepted',
      'ignored',
      'refused',
      'broken',
      'not tested',
      'Exit codes',
      ' 0 ',
      ' 1 ',
      ' 2 ',
      ' 3 ',
    ])
      expect(out).toContain(word);
  });
});
