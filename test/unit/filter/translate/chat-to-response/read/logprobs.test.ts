import { describe, expect, it } from 'vitest';
import { readLogprobs } from '../../../../../../src/filter/translate/chat-to-response/read/logprobs.ts';

describe('readLogprobs', () => {
  it.each([
    ['nothing', undefined],
    ['null', null],
    ['a list', []],
    ['no content', { content: null }],
    ['content that is not a list', { content: { token: 'a' } }],
    ['entries that are no tokens', { content: [null, 'a', 3, [], {}, { token: 3, logprob: -1 }] }],
  ])('is empty for %s', (_, logprobs) => {
    expect(readLogprobs(logprobs)).toEqual([]);
  });

  it.each([['-1'], [null], [undefined], [{}], [-1e9], [-Infinity], [NaN]])('takes %s for the floor', (logprob) => {
    expect(readLogprobs({ content: [{ token: 'a', logprob }] })).toEqual([
      { token: 'a', logprob: -9999, bytes: [97], top_logprobs: [] },
    ]);
  });

  it('computes bytes that are missing or none', () => {
    for (const bytes of [undefined, null, 'a', [1.5], ['a'], {}])
      expect(readLogprobs({ content: [{ token: 'ü', logprob: -1, bytes }] })[0]?.bytes).toEqual([195, 188]);
    expect(readLogprobs({ content: [{ token: '', logprob: -1, bytes: [0xe2] }] })[0]?.bytes).toEqual([0xe2]);
  });

  it('leaves out alternatives that are no tokens', () => {
    const top_logprobs = [null, { token: 'b', logprob: -2 }, { logprob: -3 }];
    expect(readLogprobs({ content: [{ token: 'a', logprob: -1, top_logprobs }] })[0]?.top_logprobs).toEqual([
      { token: 'b', logprob: -2, bytes: [98] },
    ]);
  });
});
