import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { describe, it } from 'vitest';
import { startProbedServer } from '../../../support/probed-server.ts';

const program = join(import.meta.dirname, '../../../../src/main.ts');
/**
 * A terminal for what is run in it: its standard input is typed, and its output is what the screen gets. It is closed, and what is run
 * in it hung up, when nobody types any more: it does not outlive a run of tests that has ended early.
 */
const terminal = `
import os, pty, sys
def typed(fd):
    data = os.read(fd, 1024)
    if not data: sys.exit(1)
    return data
sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:], stdin_read=typed)))`;

/** Runs doctor at a server whose answers with log probabilities never end; `typed` answers what it asks. */
async function doctorAsked(typed: string) {
  const server = await startProbedServer({ hangs: (body) => body.logprobs === true });
  const args = ['doctor', `http://127.0.0.1:${server.port}/v1`, '--model', 'm', '--timeout', '20'];
  const child = spawn('python3', ['-c', terminal, process.execPath, program, ...args], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { PATH: process.env['PATH'], TERM: 'dumb', NO_COLOR: '1' },
  });
  let screen = '';
  let questions = 0;
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    screen += text;
    const asked = screen.split('[y/N] ').length - 1;
    for (; questions < asked; questions += 1) child.stdin.write(typed);
  });
  const code = await new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  await server.close();
  // Its lines are as long as the terminal that was made is wide.
  const [before = '', after = ''] = screen.replaceAll(/\s+/g, ' ').split(/\[y\/N\] (.*)/);
  return { code, before, after, questions, screen };
}

// At once, since most of the time they wait: 20 s, so that on a busy machine nothing but the answer without end takes longer.
describe.concurrent('after the first timeout doctor asks in a terminal whether to go on', () => {
  it('and ends with what it found where the answer is no', async ({ expect }) => {
    const { code, before, after, questions } = await doctorAsked('n\r');
    expect({ code, questions }).toEqual({ code: 0, questions: 1 });
    expect(before).toMatch(/no complete answer within 20 s/);
    expect(after).toMatch(/too slow, or silent, at /);
    expect(after).not.toMatch(/\b\d+\/\d+ \w/);
    expect(after).not.toMatch(/\[\d+m/); // NO_COLOR
  });

  it('and probes all the rest where it is yes', async ({ expect }) => {
    const { before, after, questions, screen } = await doctorAsked('y\r');
    expect(questions).toBe(1);
    // The last line of progress is gone when the report begins.
    expect(screen.replaceAll('\r\u001b[K', '<erased>')).toMatch(/<erased>(\d+)\/\1 [^\r\n]*<erased>\r?\n/);
    expect(before).not.toMatch(/too slow/);
    expect(after).not.toMatch(/too slow, or silent/);
    const [, all = ''] = /\d\/(\d+) /.exec(before) ?? [];
    expect(after).toContain(`${all}/${all} `);
  });
});
