import { describe, expect, it } from 'vitest';
import { AnswerLogprobs } from '../../../../../../src/filter/translate/chat-to-response/read/logprobs.ts';
import { HeldBytes } from '../../../../../../src/filter/translate/shared/held-bytes.ts';

const logprob = (token: string, bytes: readonly number[] = [...Buffer.from(token)]) => ({
  token,
  logprob: -1,
  bytes,
  top_logprobs: [],
});

/** What each text takes, as tokens. */
function taken(chunks: readonly (readonly [tokens: readonly string[], text: string])[]): string[][] {
  const logprobs = new AnswerLogprobs(new HeldBytes());
  return chunks.map(([tokens, text]) => {
    logprobs.push(tokens.map((token) => logprob(token)));
    const own = text === '' ? [] : logprobs.take(text);
    return own.map(({ token }) => token);
  });
}

describe('the logprobs of the answer', () => {
  it.each<[string, Parameters<typeof taken>[0], string[][]]>([
    [
      'one token a chunk',
      [
        [['a'], 'a'],
        [['b'], 'b'],
      ],
      [['a'], ['b']],
    ],
    ['several tokens a chunk', [[['a', 'b'], 'ab']], [['a', 'b']]],
    ['reasoning and answer in one chunk', [[['<think>', 'yes', '</think>', 'yes'], 'yes']], [['yes']]],
    [
      'end markers',
      [
        [['a', '</s>', '<|end|>'], 'a'],
        [['<|x|>'], ''],
      ],
      [['a'], []],
    ],
    [
      'a token whose text comes with the next chunk',
      [
        [[''], ''],
        [[' é'], ' é'],
      ],
      [[], ['', ' é']],
    ],
    [
      'text held back',
      [
        [['\n\n'], ''],
        [['a', 'b', 'c', 'd', 'e'], '\n\n'],
        [[], 'abcde'],
      ],
      [[], ['\n\n'], ['a', 'b', 'c', 'd', 'e']],
    ],
    ['white space cut off by the server', [[[' \n Hi'], 'Hi']], [[' \n Hi']]],
    ['a character written as U+FFFD', [[['caf', '\uFFFD x'], 'café x']], [['caf', '\uFFFD x']]],
    ['U+FFFD alone, at the start', [[['<think>', '\uFFFD', 'b'], '漢b']], [['\uFFFD', 'b']]],
    ['U+FFFD for a few bytes', [[['a', '\uFFFD', 'b'], `${'x'.repeat(16)}b`]], [['\uFFFD', 'b']]],
    ['U+FFFD for more than a few bytes', [[['a', '\uFFFD', 'b'], `a${'x'.repeat(17)}b`]], [[]]],
    ['other words', [[['Hel', 'p'], 'Hello']], [[]]],
    ['text without tokens', [[[], 'a']], [[]]],
  ])('are found: %s', (_name, chunks, expected) => {
    expect(taken(chunks)).toEqual(expected);
  });

  it('are found where a character is cut between two tokens of which one came early', () => {
    const logprobs = new AnswerLogprobs(new HeldBytes());
    const [first, ...others] = Buffer.from('漢');
    logprobs.push([logprob('a'), logprob('\uFFFD', [first ?? 0])]);
    expect(logprobs.take('a')).toHaveLength(1);
    logprobs.push([logprob('\uFFFD', others)]);
    expect(logprobs.take('漢')).toHaveLength(2);
  });

  it('that no text takes are not kept for ever, and are counted while they are', () => {
    const held = new HeldBytes();
    const logprobs = new AnswerLogprobs(held);
    const push = () => logprobs.push([logprob('thought')]);
    for (let count = 0; count < 513; count++) push();
    const most = held.bytes;
    expect(most).toBeGreaterThan(512 * 50);
    for (let count = 0; count < 512; count++) push();
    expect(held.bytes).toBe(most);
    logprobs.push([logprob('answer')]);
    logprobs.take('answer');
    expect(held.bytes).toBe(0);
  });
});
