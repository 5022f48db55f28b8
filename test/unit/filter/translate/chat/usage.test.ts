import { describe, expect, test } from 'vitest';
import { usageOf } from '../../../../../src/filter/translate/chat/usage.ts';

const totals = { prompt_tokens: 10, completion_tokens: 7 };
const ofUsage = (usage: object) => usageOf({ usage: { ...totals, ...usage } }, { reasoningTokensExtra: false });

describe('each vendor’s spelling', () => {
  test.each([
    { prompt_tokens_details: { cached_tokens: 4 } },
    { prompt_cache_hit_tokens: 4 },
    { cached_tokens: 4 },
    { num_cached_tokens: 4 },
    { cache_read_input_tokens: 4 },
    { input_tokens_details: { cached_tokens: 4 } },
  ])('of tokens read from a cache: %j', (usage) => {
    expect(ofUsage(usage)?.input_tokens_details).toEqual({ cached_tokens: 4, cache_write_tokens: 0 });
  });

  test.each([
    { cache_creation_input_tokens: 4 },
    { prompt_tokens_details: { cache_write_tokens: 4 } },
    { prompt_tokens_details: { cache_creation_tokens: 4 } },
    { prompt_tokens_details: { cache_creation_input_tokens: 4 } },
    { input_tokens_details: { cache_write_tokens: 4 } },
  ])('of tokens written to it: %j', (usage) => {
    expect(ofUsage(usage)?.input_tokens_details).toEqual({ cached_tokens: 0, cache_write_tokens: 4 });
  });
});

test.each([
  [
    { cached_tokens: 11, cache_creation_input_tokens: 11 },
    { cached_tokens: 10, cache_write_tokens: 10 },
  ],
  [
    { cached_tokens: -1, cache_creation_input_tokens: 0.5 },
    { cached_tokens: 0, cache_write_tokens: 0 },
  ],
])('no more than the input is cached, and no part of a token: %j', (usage, details) => {
  expect(ofUsage(usage)?.input_tokens_details).toEqual(details);
});
