import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readProfilesFile } from '../../../src/upstream/profiles-file.ts';
import { type Behaviour, type ProbedServer, startProbedServer } from '../../support/probed-server.ts';
import { runDoctor, runDoctorJson } from '../../support/run-doctor.ts';

const key = 'sk-very-secret-0123456789';

async function withServer<Result>(behaviour: Behaviour, use: (server: ProbedServer, url: string) => Promise<Result>) {
  const server = await startProbedServer(behaviour);
  try {
    return await use(server, `http://127.0.0.1:${server.port}`);
  } finally {
    await server.close();
  }
}

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
      expect(report.stopped).toMatch(/plain question is not answered: 404: Incorrect key/);
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
    const behaviour: Behaviour = { hangs: (body) => body.logprobs === true };
    await withServer(behaviour, async (_server, url) => {
      const { report } = await runDoctorJson([url, '--model', 'm', '--timeout', '1']);
      expect(report.findings.find(({ probe }) => probe === 'logprobs')).toMatchObject({
        result: 'not_tested',
        detail: expect.stringContaining('--timeout'),
      });
      expect(report.profile?.flags).toEqual([]);
    });
  });
});

it('a run begins no probe after --max-time', async () => {
  await withServer({ hangs: (body) => body.tools !== undefined }, async (_server, url) => {
    const { code, report } = await runDoctorJson([url, '--model', 'm', '--timeout', '1', '--max-time', '1']);
    expect(report.findings.at(-1)?.detail).toBe('the time is used up (--max-time)');
    expect(code).toBe(3);
  });
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

it('the wrong scheme is named as a possible cause', async () => {
  await withServer({}, async (_server, url) => {
    const { report } = await runDoctorJson([url.replace('http:', 'https:'), '--model', 'm']);
    expect(report.stopped).toContain('begins with https://, else with http://');
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
    [['http://x.test', 'http://y.test', '-m', 'm'], 'One URL'],
    [['http://x.test', '-m', 'm', '--max-tokens', '0'], '--max-tokens must be'],
    [['http://x.test', '-m', 'm', '--max-time', 'soon'], '--max-time must be'],
    [['http://x.test', '-m', 'm', '--key', 'a b'], 'The key has characters'],
    [['http://x.test', '-m', 'm', '--shine'], "Unknown option '--shine'"],
  ])('that is wrong is refused: %j', async (args, message) => {
    expect(await runDoctor(args)).toEqual({ code: 2, out: '', err: expect.stringContaining(message) });
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

  it.each([
    ['', '/v1/chat/completions'],
    ['/', '/v1/chat/completions'],
    ['/api/v1/', '/api/v1/chat/completions'],
    ['/openai/chat/completions', '/openai/chat/completions'],
  ])('takes a base URL as SDKs do: %j', async (path, asked) => {
    await withServer({}, async (server, url) => {
      await runDoctor([`${url}${path}`, '-m', 'm', '--max-requests', '8']);
      expect(server.requests.map((request) => request.path)).toContain(asked);
      expect(server.requests[0]?.path).toBe(asked.replace('chat/completions', 'models'));
    });
  });
});
