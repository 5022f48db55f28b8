import { execFileSync, spawn } from 'node:child_process';
import { closeSync, constants, mkdtempSync, openSync, readFileSync, readSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { findFreePort, waitUntilListening } from '../../mesh/ports.ts';
import { createLogOutput } from '../../src/service/telemetry/log-output.ts';
import { connectExtProc } from '../support/extproc-client.ts';
import { holdTimers } from '../support/held-timers.ts';
import { sendRequest } from '../support/scripted-exchange.ts';
import { serviceMain } from '../support/service-main.ts';

let folder: string;
const opened: number[] = [];
const open = (path: string, flags: number | string) => {
  const fd = openSync(path, flags);
  opened.push(fd);
  return fd;
};
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'extproc-log-'));
});
afterEach(() => {
  for (const fd of opened.splice(0)) closeSync(fd);
  rmSync(folder, { recursive: true, force: true });
});

/** A pipe with a name, held open so that neither end waits for the other. */
function pipe(): { path: string; fd: number } {
  const path = join(folder, 'pipe');
  execFileSync('mkfifo', [path]);
  return { path, fd: open(path, constants.O_RDWR) };
}

describe('an output of the log', () => {
  test('writes lines in order, those at the end too', async () => {
    const path = join(folder, 'log');
    const output = createLogOutput(open(path, 'w'));
    for (let n = 0; n < 1_000; n += 1) output.write(`${n} ${'x'.repeat(50)}\n`);
    await output.drain(10_000);
    output.write('last\n');
    expect(output.flushAtExit()).toBe(true);
    const lines = readFileSync(path, 'utf8').trimEnd().split('\n');
    expect(lines.map((line) => line.split(' ')[0])).toEqual([...Array(1_000).keys()].map(String).concat('last'));
    expect(output.lost).toBe(0);
  });

  test('writes what has 64 KiB at once, and less after a time', async () => {
    const delay = holdTimers(200);
    const path = join(folder, 'log');
    const output = createLogOutput(open(path, 'w'));
    const [short, long] = ['a line\n', `${'x'.repeat(64 * 1024 - 1)}\n`];
    output.write(long);
    await expect.poll(() => readFileSync(path, 'utf8')).toBe(long);
    output.write(short);
    expect(delay.count).toBe(1);
    output.write(short);
    expect(delay.count).toBe(1);
    delay.pass();
    await expect.poll(() => readFileSync(path, 'utf8')).toBe(long + short + short);
    expect(output.lost).toBe(0);
  });

  test('writes a line that is alone', async () => {
    const path = join(folder, 'log');
    const output = createLogOutput(open(path, 'w'));
    output.write('alone\n');
    await output.drain(10_000);
    expect(readFileSync(path, 'utf8')).toBe('alone\n');
  });

  test('counts lines that a full disk cannot take, and goes on', async () => {
    const output = createLogOutput(open('/dev/full', 'w'));
    for (let n = 0; n < 10; n += 1) output.write('a line\n');
    await output.drain(10_000);
    expect(output.lost).toBe(10);
    output.write('one more\n');
    output.flushAtExit();
    expect(output.lost).toBe(11);
  });

  test('holds 1 MiB for a pipe that nobody reads, counts what is beyond, and the end does not wait', async () => {
    const { fd } = pipe();
    const output = createLogOutput(fd);
    for (let n = 0; n < 3_000; n += 1) output.write(`${'x'.repeat(1023)}\n`);
    expect(output.lost).toBeGreaterThan(1_500);
    await output.drain(10);
    expect(output.flushAtExit()).toBe(true);
  });

  test('writes on when a slow reader reads again', async () => {
    const { fd, path } = pipe();
    const output = createLogOutput(fd);
    for (let n = 0; n < 200; n += 1) output.write(`${String(n).padStart(1023)}\n`);
    await output.drain(10);
    const reader = open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const piece = Buffer.alloc(1_000_000);
    let text = '';
    await expect
      .poll(() => {
        try {
          text += piece.toString('utf8', 0, readSync(reader, piece));
        } catch {} // EAGAIN: nothing there yet
        return text.length;
      })
      .toBe(200 * 1024);
    expect(output.lost).toBe(0);
  });
});

describe('a service', () => {
  /** Starts it with standard output to where a shell leads it; `stop` sends SIGTERM and gives its exit code. */
  async function start(redirect: string, reader: 'gone' | 'leaves at the end' | 'asleep' = 'gone') {
    const [grpc, admin] = [await findFreePort(), await findFreePort()];
    const command = `exec "${process.execPath}" "${serviceMain.main}" ${redirect}`;
    const child = spawn('sh', ['-c', command], {
      env: {
        ...process.env,
        ...serviceMain.environment,
        LISTEN: `127.0.0.1:${grpc}`,
        ADMIN_LISTEN: `127.0.0.1:${admin}`,
        DRAIN_DELAY_MS: '0',
        DRAIN_TIMEOUT_MS: '1000',
        LOG_LEVEL: 'debug',
      },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    if (reader === 'gone') child.stdout.destroy();
    else if (reader === 'asleep') child.stdout.pause();
    else child.stdout.resume();
    const ended = new Promise<number | string | null>((resolve) => {
      child.once('exit', (code, signal) => resolve(code ?? signal));
    });
    await waitUntilListening(grpc, AbortSignal.timeout(240_000));
    await waitUntilListening(admin, AbortSignal.timeout(240_000));
    const client = connectExtProc(`127.0.0.1:${grpc}`);
    return {
      async exchange(): Promise<void> {
        const model = 'm'.repeat(200); // lines of some length
        const { call } = await sendRequest(client, JSON.stringify({ model, input: 'Hi', store: true }));
        call.cancel();
      },
      async lost(): Promise<number> {
        const text = await (await fetch(`http://127.0.0.1:${admin}/metrics`)).text();
        return Number(/^responses_extproc_log_lines_lost_total (\d+)$/m.exec(text)?.[1]);
      },
      async stop(): Promise<number | string | null> {
        client.close();
        if (reader === 'leaves at the end') child.stdout.destroy();
        child.kill('SIGTERM');
        return ended;
      },
    };
  }

  test.each([
    ['whose log reader is gone', ''],
    ['whose log is on a full disk', '> /dev/full'],
  ])('%s answers, counts the lost lines, and ends when it is told to', async (_name, redirect) => {
    const service = await start(redirect);
    await service.exchange();
    await expect.poll(service.lost).toBeGreaterThanOrEqual(2); // `listening` and the exchange
    await service.exchange();
    expect(await service.stop()).toBe(0);
  });

  test('whose log reader leaves just before its last lines ends when it is told to', async () => {
    const service = await start('', 'leaves at the end');
    await service.exchange();
    expect(await service.stop()).toBe(0);
  });

  test('whose log is a socket that nobody reads ends itself: nothing else would end the write', async () => {
    const service = await start('', 'asleep');
    await Promise.all(Array.from({ length: 1_000 }, () => service.exchange())); // more than a socket holds
    expect(await service.stop()).toBe('SIGKILL');
  });

  test('whose log nobody reads answers, and ends when it is told to', async () => {
    const { path } = pipe();
    const service = await start(`> ${path}`);
    for (let n = 0; n < 300; n += 1) await service.exchange(); // more than a pipe holds
    expect(await service.stop()).toBe(0);
  });
});
