import { describe, expect, it } from 'vitest';
import type { UpstreamState } from '../../../mesh/upstream-check.ts';
import { createTeller, watchUpstream } from '../../../mesh/upstream-news.ts';

/** A clock on which only sleepers and answers pass time: the earliest of them is next, whenever nothing else happens. */
function createClock() {
  let time = 0;
  const waiting: { at: number; wake(): void }[] = [];
  const sleep = (milliseconds: number) =>
    new Promise<void>((wake) => {
      waiting.push({ at: time + milliseconds, wake });
      setImmediate(advance);
    });
  function advance(): void {
    waiting.sort((one, other) => one.at - other.at);
    const next = waiting.shift();
    if (next === undefined) return;
    time = Math.max(time, next.at);
    next.wake();
  }
  return { now: () => time, sleep };
}

const there: UpstreamState = { models: ['embed-1', 'qwen3'], problem: null, isLoading: false, profile: null };
const absent: UpstreamState = { models: [], problem: 'nothing listens', isLoading: false, profile: null };
const loading: UpstreamState = {
  models: [],
  problem: 'it answers with the status 503.',
  isLoading: true,
  profile: null,
};

/** What is printed about a server that gives these answers, each so many milliseconds after the question; the last one again and again. */
async function linesFor(...answers: readonly (readonly [milliseconds: number, state: UpstreamState])[]) {
  const { now, sleep } = createClock();
  let asked = 0;
  async function ask(): Promise<UpstreamState> {
    const [milliseconds, state] = answers[Math.min(asked++, answers.length - 1)] ?? [0, absent];
    await sleep(milliseconds);
    return state;
  }
  const tell = createTeller({
    url: 'http://gateway/v1',
    upstream: new URL('http://chat/v1'),
    profile: 'generic',
    curl: (model) => `curl ${model}`,
    pages: 'PAGES',
  });
  const lines: string[] = [];
  const times: number[] = [];
  for await (const news of watchUpstream({ ask, now, sleep })) {
    lines.push(
      ...tell(news)
        .split('\n')
        .filter((line) => line !== ''),
    );
    times.push(now());
  }
  return { lines, times, asked };
}

const awaits = 'http://chat/v1 has not answered yet; it may still be loading its model. Waiting for its first answer.';
const list = 'http://chat/v1 has embed-1, qwen3';
const unusable =
  'WARNING http://gateway/v1 is open, but its Chat server cannot be used: http://chat/v1: nothing listens';

describe('npm start with a Chat server', () => {
  it('that answers at once is ready, with a model of its own in the example', async () => {
    const { lines } = await linesFor([100, there]);
    expect(lines).toEqual([list, 'ready http://gateway/v1', 'curl qwen3', 'PAGES']);
  });

  it('that loads for 20 s is ready after 5 s, and has the example once the server answers', async () => {
    const { lines, times, asked } = await linesFor([20_000, there]);
    expect(lines).toEqual([
      ...['ready http://gateway/v1', awaits, 'PAGES'],
      ...['http://chat/v1 answered after 20 s.', list, 'curl qwen3'],
    ]);
    expect([times, asked]).toEqual([[5000, 20_000], 1]);
  });

  it('that says it is loading is ready too, and is asked again', async () => {
    const { lines } = await linesFor([10, loading], [10, loading], [10, there]);
    expect(lines).toEqual([
      ...['ready http://gateway/v1', awaits, 'PAGES'],
      ...['http://chat/v1 answered after 4 s.', list, 'curl qwen3'],
    ]);
  });

  it('that is not there is warned of once, and ready when it comes', async () => {
    const { lines } = await linesFor([0, absent], [0, absent], [0, absent], [0, there]);
    expect(lines).toEqual([
      ...[unusable, 'curl MODEL', 'npm start asks it again every 2 s, for 10 minutes.', 'PAGES'],
      ...['http://chat/v1 answers now, after 6 s.', list, 'ready http://gateway/v1', 'curl qwen3'],
    ]);
  });

  it('that turns out not to be usable after all is warned of', async () => {
    const { lines } = await linesFor([7000, { ...absent, problem: 'it is no Chat server' }], [0, there]);
    expect(lines.slice(0, 2)).toEqual(['ready http://gateway/v1', awaits]);
    expect(lines).toContain(
      'WARNING http://gateway/v1 is open, but its Chat server cannot be used: http://chat/v1: it is no Chat server',
    );
    expect(lines.slice(-2)).toEqual(['ready http://gateway/v1', 'curl qwen3']);
  });

  it('that never comes is asked for ten minutes', async () => {
    const { lines, times, asked } = await linesFor([0, absent]);
    expect(lines.at(-1)).toBe('http://chat/v1 did not answer in time. Run npm start again once it answers.');
    expect([times, asked]).toEqual([[0, 600_000], 301]);
  });

  it('that names its engine is told which profile fits, and what it sets', async () => {
    const { lines } = await linesFor([0, { ...there, profile: 'llama.cpp' }]);
    expect(lines.at(-2)).toMatch(
      /^The server says that it is llama\.cpp\. --profile llama\.cpp sets for it: reasoningReplay, .*toolChoice.* \(docs\/upstreams\.md\)\.$/,
    );
  });
});

describe('the text about a Chat server', () => {
  const teller = (profile = 'generic') =>
    createTeller({
      url: 'http://gateway/v1',
      upstream: new URL('http://chat/v1'),
      profile,
      curl: (model) => `curl ${model}`,
      pages: 'PAGES\n',
    });
  const many = Array.from({ length: 9 }, (_, index) => `m${index + 1}`);
  const problem = 'it lists no models. Load one.';
  const warning = `\nWARNING http://gateway/v1 is open, but its Chat server cannot be used: http://chat/v1: ${problem}\n`;
  const again = 'npm start asks it again every 2 s, for 10 minutes.\n';
  const ready = '\nready http://gateway/v1\n';

  it.each([
    [
      'vllm',
      'llama.cpp',
      /^The server says that it is llama\.cpp, and the profile is vllm\. --profile llama\.cpp sets for it: /m,
    ],
    ['vllm', 'vllm', null],
    ['mine', 'vllm', null],
  ])('with the profile %s that says it is %s', (chosen, says, line) => {
    const text = teller(chosen)({ type: 'there', state: { ...there, profile: says }, afterMs: 0 });
    if (line === null) expect(text).not.toContain('The server says');
    else expect(text).toMatch(line);
  });

  it('that is there', () => {
    const tell = teller();
    const news = (models: readonly string[]) => ({
      type: 'there' as const,
      state: { ...there, models },
      afterMs: 1499,
    });
    expect(tell(news(many.slice(0, 8)))).toBe(
      `\nhttp://chat/v1 has m1, m2, m3, m4, m5, m6, m7, m8\n${ready}\ncurl m1\n\nPAGES\n`,
    );
    // Said once.
    expect(tell(news([]))).toBe('\nhttp://chat/v1 answers now, after 1 s.\ncurl MODEL\n');
    expect(tell({ ...news(many), afterMs: 1500 })).toBe(
      '\nhttp://chat/v1 answers now, after 2 s.\n\nhttp://chat/v1 has m1, m2, m3, m4, m5, m6, m7, m8, … (9)\ncurl m1\n',
    );
  });

  it('that is awaited, and then cannot be used', () => {
    const tell = teller();
    expect(tell({ type: 'awaited' })).toBe(`${ready}\n${awaits}\n\nPAGES\n`);
    expect(tell({ type: 'unusable', state: there, problem })).toBe(`\n${list}\n${warning}\ncurl qwen3\n`);
    expect(tell({ type: 'awaited' })).toBe(`${ready}\n${awaits}\n`);
    expect(tell({ type: 'given_up' })).toBe(
      'http://chat/v1 did not answer in time. Run npm start again once it answers.\n',
    );
  });

  it('that cannot be used from the start', () => {
    const tell = teller();
    expect(tell({ type: 'unusable', state: absent, problem })).toBe(`${warning}\ncurl MODEL\n\n${again}\nPAGES\n`);
  });
});
