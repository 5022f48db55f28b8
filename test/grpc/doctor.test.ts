import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { json } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { type Behaviour, withServer } from '../support/probed-server.ts';
import type { DoctorReport } from '../support/run-doctor.ts';
import { serviceMain } from '../support/service-main.ts';

/** What `doctor` does as a process. */
const env = { ...process.env, ...serviceMain.environment };

describe('an answer of 8 MiB that parses to a hundred times as much fits in a heap of 128 MiB:', () => {
  const ofSize = (start: string, unit: string, end: string) =>
    start + unit.repeat((8 * 1024 * 1024 - start.length - end.length) / unit.length) + end;

  it.each([
    ['events', 'text/event-stream', ofSize('', `data: [${'{},'.repeat(200)}{}]\n\n`, ''), /not a Chat Completion/],
    ['one event', 'text/event-stream', ofSize('data: [', '{},', '{}]\n\n'), /event .* larger than 1048576 bytes/],
    ['values', 'application/json', ofSize('[', '{},', '{}]'), /an answer of over 200000 values/],
    ['words', 'text/plain', ofSize('', 'a ', ''), /not a Chat Completion/],
  ])('%s', async (_name, type, answer, detail) => {
    const respond: Behaviour['respond'] = (_path, body) =>
      body === null ? null : { status: 200, headers: { 'content-type': type }, body: answer };
    await withServer({ respond }, async (_server, url) => {
      const args = ['--max-old-space-size=128', serviceMain.main, 'doctor', url, '--model', 'm', '--json'];
      const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'ignore'] });
      const closed = once(child, 'close');
      const report = (await json(child.stdout)) as DoctorReport;
      expect(await closed).toEqual([1, null]);
      expect(report.stopped).toMatch(detail);
    });
  });
});

it('Ctrl-C prints what was found', async () => {
  await withServer({ hangs: ({ tools }) => tools !== undefined }, async (_server, url) => {
    const child = spawn(process.execPath, [serviceMain.main, 'doctor', url, '--model', 'm'], {
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let out = '';
    child.stdout.on('data', (text) => {
      out += text;
    });
    let progress = '';
    child.stderr.on('data', (text) => {
      progress += text;
      if (progress.includes(' tools: ')) child.kill('SIGINT');
    });
    const [code] = await once(child, 'close');
    expect(code).toBe(3);
    expect(out).toContain('STOPPED: Interrupted.');
    expect(out).toMatch(/^ {2}stream {17}works/m);
  });
});
