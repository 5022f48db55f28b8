import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { settingsIn } from '../../src/service/settings/setting.ts';
import { settings } from '../../src/service/settings/settings-table.ts';
import { imageFlags } from '../support/image-flags.ts';
import { type ServiceMain, serviceFromSources, serviceMain } from '../support/service-main.ts';
import { startServiceProcess } from '../support/service-process.ts';

const root = join(import.meta.dirname, '../..');

function run(args: readonly string[], environment: Readonly<Record<string, string>> = {}, service = serviceMain) {
  const env = { ...process.env, ...service.environment, ...environment };
  return spawnSync(process.execPath, [service.main, ...args], { encoding: 'utf8', env, timeout: 240_000 });
}

describe('the command line', () => {
  it('--help shows the options and every variable', () => {
    const { status, stdout } = run(['--help']);
    expect(status).toBe(0);
    for (const flag of ['--help', '--version', '--print-config']) expect(stdout).toContain(flag);
    for (const { variable } of settingsIn(settings)) expect(stdout).toContain(`  ${variable}`);
    expect(run(['-h']).stdout).toBe(stdout);
  });

  it('--help shows the subcommands', () => {
    const { stdout } = run(['--help']);
    for (const name of ['explain', 'doctor']) expect(stdout).toMatch(new RegExp(`^  ${name} +\\w`, 'm'));
  });

  it('--version shows the version of package.json', () => {
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    for (const service of [serviceMain, serviceFromSources])
      expect(run(['--version'], {}, service)).toMatchObject({ status: 0, stdout: `${version}\n`, stderr: '' });
  });

  it('--help and --version work with an environment that would stop the start', () => {
    expect(run(['--version'], { WORKERS: 'many' }).status).toBe(0);
    expect(run(['--help'], { WORKERS: 'many' }).status).toBe(0);
    expect(run(['--print-config'], { WORKERS: 'many' })).toMatchObject({ status: 1 });
  });

  it.each([['--prot=50051'], ['--print-config=yes'], ['serve'], ['-x']])(
    '%s is refused with exit code 2',
    (argument) => {
      const { status, stdout, stderr } = run([argument]);
      expect(status).toBe(2);
      expect(stdout).toBe('');
      expect(stderr).toContain(argument.split('=', 1)[0]);
      expect(stderr).toContain('--help');
    },
  );
});

describe('docs/operating.md', () => {
  it('gives the largest body of each heap as the service computes it under the image’s flags', () => {
    const text = readFileSync(join(root, 'docs/operating.md'), 'utf8');
    const rows = [...text.matchAll(/\| `(--max-old-space-size=\d+)` \| ([\d.]+) MiB \|/g)];
    expect(rows).toHaveLength(4);
    for (const [, option = '', shown] of rows) {
      const env = { ...process.env, ...serviceMain.environment, NODE_OPTIONS: option };
      const args = [...imageFlags, serviceMain.main, '--print-config'];
      const { stdout } = spawnSync(process.execPath, args, { encoding: 'utf8', env });
      const bytes = (JSON.parse(stdout) as { MAX_REQUEST_BYTES: number }).MAX_REQUEST_BYTES;
      expect((bytes / 1024 / 1024).toFixed(1), option).toBe(shown);
    }
  });
});

describe('doctor', () => {
  it('ends by itself, with an exit code, and its report on standard output', () => {
    const { status, stdout } = run(['doctor', 'http://127.0.0.1:9', '--model', 'm'], { UPSTREAM_API_KEY: 'sk-secret' });
    expect(status).toBe(3);
    expect(stdout).toContain('At most ');
    expect(stdout).toContain('cannot be reached');
    expect(stdout).not.toContain('sk-secret');
  });

  it('says what is wrong with its options', () => {
    expect(run(['doctor'])).toMatchObject({ status: 2, stdout: '', stderr: expect.stringContaining('URL') });
  });
});

describe('npm run dev', () => {
  it('does not wait for the drain when it restarts', () => {
    const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    const settings = Object.fromEntries(
      [...scripts.dev.matchAll(/(DRAIN_\w+)=(\d+)/g)].map(([, key, ms]) => [key, ms]),
    );
    expect(settings).toEqual({ DRAIN_DELAY_MS: '0', DRAIN_TIMEOUT_MS: '500' });
  });
});

describe('a grpc-js that keeps its internals elsewhere', () => {
  /** Each changes one thing throughout grpc-js, which then mostly still works by itself. */
  const moves: readonly (readonly [what: string, field: string, renamed: string, missing: string])[] = [
    [
      'its listener for streams',
      "http2Server\\.on\\('stream'",
      "http2Server.on('call'",
      'listener for streams of its own',
    ],
    ['its HTTP/2 options', '\\bcommonServerOptions\\b', 'http2Options', 'field `commonServerOptions`'],
    ['its HTTP/2 servers', '\\bthis\\.http2Servers\\b', 'this.listeners', 'field `http2Servers`'],
    ['the time between its pings', '\\bkeepaliveTimeMs\\b', 'pingMs', 'field `keepaliveTimeMs`'],
  ];

  /** What ends with a message under that move. */
  function expectEnd(
    service: ServiceMain,
    args: readonly string[],
    [, field, renamed, missing]: (typeof moves)[number],
  ) {
    const hook = `import { registerHooks } from 'node:module';
      registerHooks({
        load(url, context, next) {
          const loaded = next(url, context);
          if (!url.endsWith('/@grpc/grpc-js/build/src/server.js')) return loaded;
          return { ...loaded, source: String(loaded.source).replace(/${field}/g, ${JSON.stringify(renamed)}) };
        },
      });`;
    const preload = `--import=data:text/javascript,${encodeURIComponent(hook)}`;
    const environment = {
      NODE_OPTIONS: preload,
      LISTEN: '127.0.0.1:0',
      ADMIN_LISTEN: '127.0.0.1:0',
      LOG_LEVEL: 'info',
    };
    const { status, stdout, stderr } = run(args, environment, service);
    expect(stderr).toContain(`This version of @grpc/grpc-js has no ${missing}`);
    expect(stderr).toContain('grpc-js-internals.ts');
    expect(status).toBe(1);
    expect(stdout).not.toContain('listening');
  }

  it.each(moves)('ends the start with a message: %s', (...move) => expectEnd(serviceFromSources, [], move));

  // In a built service all of grpc-js is in one file.
  it('ends the build, which makes the same check', () => {
    const folder = mkdtempSync(join(tmpdir(), 'extproc-built-'));
    const build = { main: join(root, 'scripts/build.ts'), environment: {} };
    expectEnd(build, [join(folder, 'dist')], moves[0] as (typeof moves)[number]);
    expect(readdirSync(folder)).toEqual([]);
    rmSync(folder, { recursive: true });
  });

  it('ends the start of a built service under another Node than the build’s, which has checked it', async () => {
    const under = (version: string) => {
      const moved = `import http2 from 'node:http2';
        http2.connect = () => { throw new Error('moved'); };
        Object.defineProperty(process, 'version', { value: '${version}' });`;
      return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(moved)}` };
    };
    const { status, stderr } = run([], { ...under('v99.0.0'), LISTEN: '127.0.0.1:0', ADMIN_LISTEN: 'off' });
    expect({ status, stderr }).toEqual({ status: 1, stderr: expect.stringContaining('"reason":"Error: moved"') });
    const service = await startServiceProcess(under(process.version));
    await service.remove();
  });
});
