import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { status } from '@grpc/grpc-js';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { checkConfig } from '../../src/program/check-config.ts';
import { nodeTooOld, oldestNodes } from '../../src/program/check-node.ts';
import { readConfig } from '../../src/service/settings/config.ts';
import { createAuthority } from '../support/certificates.ts';
import { connectExtProc } from '../support/extproc-client.ts';
import { beginStream, sendRequest } from '../support/scripted-exchange.ts';
import { serviceFromSources, serviceMain } from '../support/service-main.ts';
import { startServiceProcess } from '../support/service-process.ts';

const root = join(import.meta.dirname, '../..');
const run = (environment: Record<string, string>, ...words: string[]) =>
  spawnSync(process.execPath, [serviceMain.main, ...words], {
    env: { ...process.env, ...serviceMain.environment, LISTEN: '127.0.0.1:0', ADMIN_LISTEN: 'off', ...environment },
    encoding: 'utf8',
  });

describe('what keeps the service from starting', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'extproc-start-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  function problemOf(environment: Record<string, string>): string {
    try {
      checkConfig(readConfig(environment));
      return 'none';
    } catch (error) {
      return (error as Error).message;
    }
  }

  test('files that are not there, by their variables', () => {
    const missing = { TLS_CERT_FILE: '/nowhere/a', TLS_KEY_FILE: '/nowhere/b', TLS_CLIENT_CA_FILE: '/nowhere/c' };
    const lines = problemOf(missing).split('\n');
    expect(lines).toHaveLength(3);
    for (const [index, name] of Object.keys(missing).entries())
      expect(lines[index]).toContain(`Configuration: ${name}: cannot be read: ENOENT`);
  });

  test('a key that is another certificate’s, and a file that is no certificate', () => {
    const authority = createAuthority('start');
    const [one, two] = [authority.issue('one'), authority.issue('two')];
    const text = join(folder, 'text');
    writeFileSync(text, 'no certificate');
    expect(problemOf({ TLS_CERT_FILE: one.certFile, TLS_KEY_FILE: two.keyFile })).toMatch(
      /^Configuration: TLS_CERT_FILE, TLS_KEY_FILE: cannot be used: .* is not the key of /,
    );
    expect(problemOf({ TLS_CERT_FILE: text, TLS_KEY_FILE: one.keyFile })).toMatch(/TLS_CERT_FILE.*cannot be used/);
    expect(problemOf({ TLS_CERT_FILE: one.certFile, TLS_KEY_FILE: one.keyFile })).toBe('none');
    authority.remove();
  });

  test('a hosted tool that there is not; versions and other vendors’ tools are fine', () => {
    expect(problemOf({ DROPPED_TOOLS: 'web_search,nosuch,typo' })).toBe(
      'Configuration: DROPPED_TOOLS: unknown hosted tool nosuch, typo',
    );
    expect(problemOf({ DROPPED_TOOLS: 'web_search_preview_2025_03_11,acme:search,mcp' })).toBe('none');
  });

  test('is the same with --print-config, in plain words', () => {
    const { status, stderr } = run({ TLS_CERT_FILE: '/nowhere/a', TLS_KEY_FILE: '/nowhere/b' }, '--print-config');
    expect(status).toBe(1);
    expect(stderr).toMatch(/^Configuration: TLS_CERT_FILE: cannot be read: ENOENT.*\nConfiguration: TLS_KEY_FILE: /);
  });

  test.each<[string, Record<string, string>, RegExp]>([
    [
      'a wrong variable',
      { MAX_TOOLS: 'many' },
      /^Configuration: MAX_TOOLS: must be a whole number from 1 to 100000 \(got "many"\)$/,
    ],
    ['an address that is not here', { LISTEN: '192.0.2.1:50051' }, /192\.0\.2\.1:50051|EADDRNOTAVAIL/],
    ['a worker’s trouble', { WORKERS: '2', LISTEN: '192.0.2.1:50051' }, /worker \d exited during start-up/],
  ])('is a line of JSON, as the log is, where no person sits at a terminal: %s', (_name, environment, reason) => {
    const { status, stderr } = run(environment);
    expect(status).toBe(1);
    const lines = stderr
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    // Not always the last line: workers that fail at the same time each write theirs.
    const line = lines.find((each) => reason.test(String(each['reason'])));
    expect(line).toMatchObject({ level: 'fatal', msg: 'cannot start' });
    expect(Date.parse(String(line?.['time']))).toBeGreaterThan(0);
  });

  test('a Node that is too old, before anything is imported that it lacks', () => {
    const { engines } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { engines: { node: string } };
    expect(engines.node.replaceAll(/\^|>=/g, '').split(' || ')).toEqual(oldestNodes);
    expect(nodeTooOld('20.20.2')).toBe(
      `This is Node 20.20.2; responses-extproc needs Node ${oldestNodes.join(', ')} or later: older ones have a bug with which a request can end the process.`,
    );
    for (const version of ['22.21.9', '22.22.0', '22.22.1', '23.11.1', '24.13.0', '24.14.0', '25.8.1'])
      expect(nodeTooOld(version), version).not.toBeNull();
    for (const version of [...oldestNodes, '22.23.0', '24.15.0', '26.10.0', '27.0.0', process.versions.node])
      expect(nodeTooOld(version), version).toBeNull();
    const main = readFileSync(join(root, 'src/main.ts'), 'utf8');
    expect([...main.matchAll(/^import .*'(.*)'/gm)].map(([, name]) => name)).toEqual([
      'node:module',
      'node:url',
      './program/check-node.ts',
    ]);
    // By name, a builtin's export that is not there fails before the message can be written.
    expect(main).toContain("import module from 'node:module'");
  });
});

test.each([
  ['as it is built', serviceMain],
  ['from its sources', serviceFromSources],
])('a bare start in a terminal, %s, says that it is the gRPC half, and what runs both', (_start, program) => {
  const untilItListens = `import os, pty, signal, sys
pid, terminal = pty.fork()
if pid == 0: os.execvp(sys.argv[1], sys.argv[1:])
said = b''
while True:
    try: piece = os.read(terminal, 65536)
    except OSError: break
    if not piece: break
    said += piece
    if b'"listening"' in said: os.kill(pid, signal.SIGTERM)
sys.stdout.buffer.write(said)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))`;
  const { stdout, status } = spawnSync('python3', ['-c', untilItListens, process.execPath, program.main], {
    env: { ...process.env, ...program.environment, LISTEN: '127.0.0.1:0', ADMIN_LISTEN: 'off', DRAIN_DELAY_MS: '0' },
    encoding: 'utf8',
  });
  expect(stdout).toMatch(
    /^This is the gRPC half: .* npx responses-extproc try, or npm start in a clone\.\r\n\{.*"listening"\}/,
  );
  expect(status).toBe(0);
});

describe.each([
  [1, 'as it is built', serviceMain],
  [2, 'from its sources', serviceFromSources],
])('the end, with WORKERS=%i, %s', (workers, _start, program) => {
  test('a stream that still runs after DRAIN_TIMEOUT_MS is cancelled, and the process ends with 0', async () => {
    const service = await startServiceProcess({ WORKERS: String(workers), DRAIN_TIMEOUT_MS: '300' }, { program });
    const client = connectExtProc(service.listen[0] ?? '');
    try {
      const { call } = await sendRequest(client, JSON.stringify({ model: 'm', input: 'Hi', stream: true }));
      await beginStream(call);
      service.child.kill('SIGTERM');
      expect((await call.status).code).not.toBe(status.OK);
      expect(await service.child.ended).toBe('exit code 0');
      const stopped = service.log.filter((line) => line['msg'] === 'stopped').map((line) => line['outcome']);
      expect(stopped).toContain('forced');
    } finally {
      client.close();
      await service.remove();
    }
  });
});
