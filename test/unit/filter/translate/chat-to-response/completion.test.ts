import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { translateCompletion } from '../../../../../src/filter/translate/chat-to-response/completion.ts';
import { ApiError } from '../../../../../src/filter/wire/schema/api-error.ts';
import type { ResponseResource } from '../../../../../src/filter/wire/schema/response-resource.ts';
import { createTestContext } from '../../../../support/context.ts';
import { runs } from '../../../../support/property-runs.ts';
import { faultsOfResponse } from '../../../../support/published-schema.ts';

/** JSON in which the fields that are read turn up often, with right and wrong values. */
const { json } = fc.letrec((tie) => ({
  leaf: fc.oneof(
    fc.constantFrom(
      '',
      'a',
      '\n',
      '<think>a</think>b',
      '{"input":"x"}',
      'stop',
      'length',
      'error',
      'text',
      'thinking',
      'f',
      'patch',
    ),
    fc.string(),
    fc.double({ noNaN: true }),
    fc.integer(),
    fc.constant(null),
    fc.boolean(),
  ),
  json: fc.oneof(
    { maxDepth: 6, withCrossShrink: true },
    tie('leaf'),
    fc.array(tie('json'), { maxLength: 3 }),
    fc.dictionary(
      fc.constantFrom(
        ...['choices', 'index', 'message', 'delta', 'content', 'role', 'finish_reason', 'tool_calls', 'function_call'],
        ...[
          'function',
          'custom',
          'name',
          'arguments',
          'input',
          'id',
          'type',
          'text',
          'refusal',
          'thinking',
          'reasoning',
        ],
        ...[
          'reasoning_content',
          'reasoning_details',
          'thinking_blocks',
          'usage',
          'x_groq',
          'prompt_tokens',
          'logprobs',
        ],
        ...['annotations', 'citations', 'search_results', 'url', 'error', 'code', 'model', 'service_tier', 'audio'],
        ...[
          'transcript',
          'extra_content',
          'google',
          'thought_signature',
          'signature',
          'provider_specific_fields',
          '__proto__',
          'constructor',
        ],
      ),
      tie('json'),
      { maxKeys: 6 },
    ),
  ),
}));

/** A completion whose frame is right, so that what is inside is reached. */
const completion = fc.record(
  {
    choices: fc.array(
      fc.record({ message: json, finish_reason: json, logprobs: json, index: json }, { requiredKeys: ['message'] }),
      { minLength: 1, maxLength: 2 },
    ),
    usage: json,
    model: json,
    error: fc.oneof({ weight: 8, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: json }),
  },
  { requiredKeys: ['choices'] },
);
const message = fc.record(
  {
    content: json,
    tool_calls: fc.array(
      fc.record({ id: json, type: json, function: json, custom: json, extra_content: json }, { requiredKeys: [] }),
      { maxLength: 3 },
    ),
    reasoning: json,
    reasoning_details: json,
    refusal: json,
    annotations: json,
  },
  { requiredKeys: [] },
);
const whole = fc.record({ choices: fc.tuple(fc.record({ message, finish_reason: json })), usage: json });

const settings = fc.record({
  wantsEncryptedReasoning: fc.boolean(),
  wantsLogprobs: fc.boolean(),
  reasoningEvents: fc.constantFrom(
    'summary' as const,
    'summary_and_content' as const,
    'reasoning_text' as const,
    'reasoning' as const,
  ),
  profileFlags: fc.record({
    thinkTags: fc.constantFrom('off', 'auto', 'on'),
    implicitThink: fc.boolean(),
    reasoningTokensExtra: fc.boolean(),
  }),
  restoredTools: fc.constant({
    patch: { kind: 'custom' as const, name: 'patch' },
    f: { kind: 'tool_search' as const },
  }),
});

describe('translateCompletion', () => {
  it('throws nothing but ApiError, whatever came', () => {
    fc.assert(
      fc.property(fc.oneof(json, completion, whole), settings, (value, given) => {
        readOutcome(value, given);
      }),
      { numRuns: runs(2000) },
    );
  });

  it('gives a response that keeps the rules, whatever came', () => {
    fc.assert(
      fc.property(fc.oneof(completion, whole), settings, (value, given) => {
        const response = readOutcome(value, given);
        if (response !== null) checkRules(response);
      }),
      { numRuns: runs(2000) },
    );
  });

  it('changes nothing of the completion', () => {
    fc.assert(
      fc.property(whole, settings, (value, given) => {
        const before = JSON.stringify(value);
        readOutcome(value, given);
        expect(JSON.stringify(value)).toBe(before);
      }),
    );
  });
});

function readOutcome(value: unknown, given: Parameters<typeof createTestContext>[0]): ResponseResource | null {
  try {
    return translateCompletion(value, createTestContext(given)).response;
  } catch (thrown) {
    expect(thrown).toBeInstanceOf(ApiError);
    return null;
  }
}

function checkRules(response: ResponseResource): void {
  expect(faultsOfResponse(response)).toEqual([]);
  const { status, output, error, incomplete_details, completed_at } = response;
  expect(new Set(output.map(({ id }) => id)).size).toBe(output.length);
  const callIds = output.flatMap((item) => ('call_id' in item ? [item.call_id] : []));
  expect(new Set(callIds).size).toBe(callIds.length);
  expect(callIds).not.toContain('');
  const unfinished = output.filter((item) => 'status' in item && item.status !== 'completed');
  // Of calls that run side by side each may be cut.
  expect(unfinished.every((item) => item === output.at(-1) || 'call_id' in item)).toBe(true);
  expect(unfinished.length > 0).toBe(status !== 'completed' && output.length > 0);
  expect(error !== null).toBe(status === 'failed');
  expect(incomplete_details !== null).toBe(status === 'incomplete');
  expect(completed_at !== null).toBe(status === 'completed');
  if (status === 'completed') expect(output.length).toBeGreaterThan(0);
}
