import { expect, it } from 'vitest';
import type { Answer } from '../../../../src/tools/doctor/findings.ts';
import { askForModels } from '../../../../src/tools/doctor/first-questions.ts';

const answered: Answer = {
  outcome: 'answered',
  status: 200,
  contentType: 'application/json',
  keepAlive: null,
  retryAfter: null,
  location: null,
  body: '{"data":[{"id":"m"}]}',
  reason: '',
  milliseconds: 1,
};
const silent: Answer = {
  ...answered,
  outcome: 'timed_out',
  status: 0,
  body: '',
  reason: 'no complete answer within 5 s',
};
const loading: Answer = { ...answered, status: 503, body: '{"error":{"message":"Loading model"}}' };
const silence =
  'The server takes the connection and has not answered yet. It may still be loading its model: waiting up to 20 s (--timeout) …';

/** Asks a server that gives these answers, the last of them again and again; a silent one takes five seconds. */
async function ask(answers: readonly Answer[]) {
  let time = 0;
  let asked = 0;
  const lines: string[] = [];
  const send = async () => {
    const answer = answers[Math.min(asked++, answers.length - 1)] ?? answered;
    time += answer.outcome === 'timed_out' ? 5000 : 1;
    return answer;
  };
  const patience = { timeout: 20, limits: { seconds: 60 } };
  const answer = await askForModels(send, patience, {
    onProgress: (line) => lines.push(line),
    isOver: () => false,
    now: () => time,
    sleep: async (milliseconds) => {
      time += milliseconds;
    },
  });
  return { answer, asked, lines, seconds: Math.floor(time / 1000) };
}

it('a server that is silent while it loads is waited for, with one line', async () => {
  expect(await ask([silent, silent, answered])).toEqual({ answer: answered, asked: 3, lines: [silence], seconds: 12 });
});

it('a server that stays silent is asked until --timeout', async () => {
  expect(await ask([silent])).toEqual({ answer: silent, asked: 4, lines: [silence], seconds: 23 });
});

it('a server that says that it loads is asked until --max-time', async () => {
  expect(await ask([loading])).toMatchObject({ answer: loading, asked: 61, seconds: 60 });
});

it('a server that is silent, then says that it loads, has a line for each', async () => {
  const { answer, lines } = await ask([silent, loading, loading, answered]);
  expect({ answer, lines }).toEqual({
    answer: answered,
    lines: [silence, 'The server is loading its model; waiting …'],
  });
});

it.each([
  ['an answer that breaks off', { ...silent, status: 200 }],
  ['a connection that is refused', { ...silent, outcome: 'unreachable', reason: 'ECONNREFUSED' }],
  ['an overloaded server', { ...loading, body: '{"error":{"message":"busy"}}' }],
] satisfies [string, Answer][])('%s is not waited for', async (_name, answer) => {
  expect(await ask([answer])).toMatchObject({ answer, asked: 1, lines: [] });
});
