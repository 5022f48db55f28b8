import { spawnSync } from 'node:child_process';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openProfiles, type ProfileSource } from '../../src/service/server/profile-source.ts';
import { readConfig } from '../../src/service/settings/config.ts';
import { type RunningService, startService } from '../support/service.ts';
import { serviceMain } from '../support/service-main.ts';
import { startServiceProcess } from '../support/service-process.ts';

const mine = 'profiles:\n  mine:\n    extends: vllm\n    maxTokensField: max_tokens\n';

let folder: string;
let file: string;
let source: ProfileSource | undefined;
let log: string[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'extproc-profiles-'));
  file = join(folder, 'profiles.yaml');
  writeFileSync(file, mine);
  log = [];
});
afterEach(() => {
  source?.close();
  source = undefined;
  rmSync(folder, { recursive: true, force: true });
});

function open(required = 'generic', intervalMs = 60_000): ProfileSource {
  source = openProfiles(
    { ...readConfig({}), UPSTREAM_PROFILES_FILE: file, UPSTREAM_PROFILE: required },
    (problem) => void log.push(problem?.message ?? `taken ${[...(source?.ofFile().keys() ?? [])].join()}`),
    intervalMs,
  );
  return source;
}

describe('a profiles file', () => {
  it('is read again when it changes, by itself', async () => {
    const profiles = open('generic', 20);
    expect(profiles.profileOf('mine')?.maxTokensField).toBe('max_tokens');
    writeFileSync(file, mine.replaceAll('mine', 'other'));
    await expect.poll(() => log).toEqual(['taken other']);
    expect(profiles.profileOf('mine')).toBeUndefined();
    expect(profiles.names().at(-1)).toBe('other');
  });

  it('that is broken changes nothing, and is reported once', () => {
    const profiles = open();
    for (const text of ['profiles: {mine: {extends: nobody}}', 'profiles: [', mine]) {
      writeFileSync(file, text);
      profiles.reload();
      profiles.reload();
      expect(profiles.problem() === null).toBe(text === mine);
      expect(profiles.profileOf('mine')?.maxTokensField).toBe('max_tokens');
    }
    expect(log.length).toBe(3);
    expect(log[0]).toContain("profile 'mine': 'extends' must be one of");
    expect(log[2]).toBe('taken mine');
  });

  it('that no longer has the configured profile changes nothing', () => {
    const profiles = open('mine');
    writeFileSync(file, mine.replaceAll('mine', 'other'));
    profiles.reload();
    expect(log[0]).toContain("there is no profile 'mine', which UPSTREAM_PROFILE names");
    expect(profiles.profileOf('mine')).toBeDefined();
  });

  it('that disappears, or grows beyond 1 MiB, changes nothing', () => {
    const profiles = open();
    writeFileSync(file, `${mine}#${'x'.repeat(1024 * 1024)}`);
    profiles.reload();
    rmSync(file);
    profiles.reload();
    profiles.reload();
    expect(log.length).toBe(2);
    expect(log[0]).toContain('larger than 1048576 bytes');
    expect(log[1]).toContain('ENOENT');
    expect(profiles.profileOf('mine')).toBeDefined();
    expect(profiles.problem()).toContain('ENOENT');
    writeFileSync(file, mine);
    profiles.reload();
    expect(log[2]).toBe('taken mine');
    expect(profiles.problem()).toBeNull();
  });
});

describe('the service', () => {
  const ask = JSON.stringify({ model: 'm', input: 'Hi', max_output_tokens: 16 });

  it('uses a profile of the file for all routes, or for the route that names it', async () => {
    const profiles = open('mine');
    const configured = await startService({ UPSTREAM_PROFILES_FILE: file, UPSTREAM_PROFILE: 'mine' }, { profiles });
    const routed = await startService({ UPSTREAM_PROFILES_FILE: file, UPSTREAM_PROFILE: 'openai' }, { profiles });
    try {
      expect(await sent(configured, {})).toContain('"max_tokens":16');
      expect(await sent(routed, {})).toContain('"max_completion_tokens":16');
      expect(await sent(routed, { 'x-upstream-profile': 'mine' })).toContain('"max_tokens":16');
      writeFileSync(file, mine.replace('max_tokens', 'max_completion_tokens'));
      profiles.reload();
      expect(await sent(configured, {})).toContain('"max_completion_tokens":16');
    } finally {
      await Promise.all([configured.stop(), routed.stop()]);
    }
  });

  function printConfig(settings: Readonly<Record<string, string>>) {
    const env = { ...process.env, ...serviceMain.environment, ...settings };
    return spawnSync(process.execPath, [serviceMain.main, '--print-config'], { env, encoding: 'utf8' });
  }

  it('does not start with a file that cannot be used, and names variable, file, profile and flag', () => {
    writeFileSync(file, 'profiles: {mine: {extends: vllm, video: 3}}');
    const run = printConfig({ UPSTREAM_PROFILES_FILE: file });
    expect(run.status).toBe(1);
    expect(run.stderr).toBe(
      `Configuration: UPSTREAM_PROFILES_FILE: ${file}: profile 'mine': flag 'video' takes true, false (got 3)\n`,
    );
  });

  it('shows the profiles of the file with --print-config', () => {
    const run = printConfig({ UPSTREAM_PROFILES_FILE: file, UPSTREAM_PROFILE: 'mine' });
    expect(JSON.parse(run.stdout).profiles.mine).toMatchObject({
      name: 'mine',
      maxTokensField: 'max_tokens',
      video: true,
    });
  });

  it('logs and counts a file that was broken while it runs, and shows it in /config beside the profiles in force', async () => {
    // It looks at the file every ten seconds, which is long to wait for: here what it does every ten seconds, it does at once.
    const script = `const { setInterval } = globalThis;
      globalThis.setInterval = (work, ms, ...rest) => setInterval(work, ms === 10_000 ? 20 : ms, ...rest);`;
    const nodeOptions = ['--import', `data:text/javascript,${encodeURIComponent(script)}`];
    const settings = { UPSTREAM_PROFILES_FILE: file, UPSTREAM_PROFILE: 'mine' };
    const running = await startServiceProcess(settings, { nodeOptions });
    try {
      // Whole or not at all: half of it would be another problem.
      writeFileSync(`${file}.new`, 'profiles: {mine: {extends: vllm, video: 3}}');
      renameSync(`${file}.new`, file);
      const { reason } = await running.logged(({ msg }) => msg === 'the changed profiles file cannot be used');
      expect(reason).toBe(`${file}: profile 'mine': flag 'video' takes true, false (got 3)`);
      expect(await running.metric('responses_extproc_profile_reloads_total', { result: 'rejected' })).toBe(1);
      expect(await running.metric('responses_extproc_profile_reloads_total', { result: 'taken' })).toBe(0);
      expect(await running.metric('responses_extproc_profiles_rejected')).toBe(1);
      const shown = await (await running.get('/config')).json();
      expect(shown).toMatchObject({ profiles: { mine: { maxTokensField: 'max_tokens' } }, profilesProblem: reason });
      writeFileSync(`${file}.new`, mine);
      renameSync(`${file}.new`, file);
      await running.logged(({ msg }) => msg === 'profiles file read again');
      expect(await running.metric('responses_extproc_profiles_rejected')).toBe(0);
    } finally {
      await running.remove();
    }
  });

  it('refuses a profile that neither it nor the file has', () => {
    expect(() => readConfig({ UPSTREAM_PROFILE: 'mine' })).toThrow('UPSTREAM_PROFILE: must be one of generic, ');
    const config = readConfig({ UPSTREAM_PROFILE: 'yours', UPSTREAM_PROFILES_FILE: file });
    expect(() => openProfiles(config)).toThrow("there is no profile 'yours', which UPSTREAM_PROFILE names");
  });

  /** The body that reaches the upstream. */
  async function sent({ client }: RunningService, metadata: Record<string, string>): Promise<string> {
    const call = client.open({ request: 'BUFFERED', response: 'FULL_DUPLEX_STREAMED' }, metadata);
    const headers = new Map([
      [':method', 'POST'],
      [':path', '/v1/responses'],
    ]);
    call.send({ type: 'request_headers', headers, endOfStream: false });
    await call.next();
    call.send({ type: 'request_body', body: Buffer.from(ask), endOfStream: true });
    const { request_body } = await call.next();
    call.cancel();
    return JSON.stringify(request_body?.response?.body_mutation, (_key, value) =>
      value?.type === 'Buffer' ? Buffer.from(value.data).toString() : value,
    ).replaceAll('\\"', '"');
  }
});
