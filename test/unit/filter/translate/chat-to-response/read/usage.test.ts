import { readdirSync, readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { findUsage, joinUsage, readUsage } from '../../../../../../src/filter/translate/chat-to-response/read/usage.ts';
import type { Repair } from '../../../../../../src/filter/translate/shared/context.ts';
import type { Usage } from '../../../../../../src/filter/wire/schema/response-resource.ts';
import { runs } from '../../../../../support/property-runs.ts';

const totals = { prompt_tokens: 10, completion_tokens: 7 };
const ofUsage = (usage: object) =>
  readUsage({ ...totals, ...usage }, { reasoningTokensExtra: false }, new Set<Repair>());

describe('each vendor’s spelling', () => {
  test.each([
    { prompt_tokens_details: { cached_tokens: 4 } },
    { prompt_cache_hit_tokens: 4 },
    { cached_tokens: 4 },
    { num_cached_tokens: 4 },
    { prompt_token_details: { cached_tokens: 4 } },
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
    { cached_tokens: 11, prompt_tokens_details: { cache_write_tokens: 11 }, total_tokens: 17 },
    { cached_tokens: 10, cache_write_tokens: 0 },
  ],
  [
    { cached_tokens: -1, cache_creation_input_tokens: 0.5 },
    { cached_tokens: 0, cache_write_tokens: 0 },
  ],
])('no more than the input is cached, and no part of a token: %j', (usage, details) => {
  expect(ofUsage(usage)?.input_tokens_details).toEqual(details);
});

test.each<[object, Repair[]]>([
  [{ cached_tokens: 11, total_tokens: 17 }, ['usage']],
  [{ reasoning_tokens: 8, total_tokens: 17 }, ['usage']],
  [{ total_tokens: 16 }, ['usage']],
  [{ cached_tokens: 10, reasoning_tokens: 7, total_tokens: 17 }, []],
  [{ reasoning_tokens: 1, total_tokens: 18 }, []],
])('only a count that contradicts another is repaired: %j', (usage, expected) => {
  const repairs = new Set<Repair>();
  readUsage({ ...totals, ...usage }, { reasoningTokensExtra: false }, repairs);
  expect([...repairs]).toEqual(expected);
});

it('a total beside a prompt of 0 is the answer’s, and contradicts no prompt that came before', () => {
  const repairs = new Set<Repair>();
  const joined = joinUsage({ prompt_tokens: 25 }, { prompt_tokens: 0, completion_tokens: 15, total_tokens: 15 });
  const usage = readUsage(joined, { reasoningTokensExtra: false }, repairs);
  expect(usage).toMatchObject({ input_tokens: 25, output_tokens: 15, total_tokens: 40 });
  expect([...repairs]).toEqual([]);
});

/** No part is more than its whole, and the parts are the total. */
function expectConsistent(usage: Usage | null): void {
  if (usage === null) return;
  const { input_tokens: input, output_tokens: output, input_tokens_details: of, total_tokens: total } = usage;
  expect(of.cached_tokens + of.cache_write_tokens).toBeLessThanOrEqual(input);
  expect(usage.output_tokens_details.reasoning_tokens).toBeLessThanOrEqual(output);
  expect(total).toBe(input + output);
}

describe('no usage contradicts itself', () => {
  const count = fc.oneof(fc.integer({ min: 0, max: 40 }), fc.constant(undefined), fc.constantFrom(null, -1, 0.5, '3'));
  const details = fc.record({ cached_tokens: count, cache_write_tokens: count, reasoning_tokens: count });

  it('whatever an upstream counts (property)', () => {
    const usages = fc.record({
      ...{ prompt_tokens: count, completion_tokens: count, total_tokens: count, cached_tokens: count },
      ...{ cache_read_input_tokens: count, cache_creation_input_tokens: count, reasoning_tokens: count },
      ...{ prompt_tokens_details: details, completion_tokens_details: details },
    });
    fc.assert(
      fc.property(usages, fc.boolean(), (usage, reasoningTokensExtra) => {
        expectConsistent(readUsage(usage, { reasoningTokensExtra }, new Set<Repair>()));
      }),
      { numRuns: runs(2000) },
    );
  });

  it('in the recordings, which need no repair', () => {
    const folder = new URL('../../../../../recordings/', import.meta.url);
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.sse'));
    const chunks = files.flatMap((name) =>
      readFileSync(new URL(name, folder), 'utf8')
        .split('\n')
        .filter((line) => line.startsWith('data: {'))
        .map((line) => JSON.parse(line.slice('data: '.length)) as object),
    );
    const repairs = new Set<Repair>();
    const usages = chunks.map((chunk) => readUsage(findUsage(chunk), { reasoningTokensExtra: false }, repairs));
    for (const usage of usages) expectConsistent(usage);
    expect(usages.filter((usage) => usage !== null).length).toBeGreaterThan(40);
    expect([...repairs]).toEqual([]);
  });
});
