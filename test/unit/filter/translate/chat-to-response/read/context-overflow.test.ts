import { describe, expect, it } from 'vitest';
import { translateError } from '../../../../../../src/filter/translate/chat-to-response/error.ts';
import { overflowTable } from '../../../../../../src/filter/translate/chat-to-response/read/context-overflow.ts';
import { readProfilesFile } from '../../../../../../src/filter/upstream/profiles-file.ts';
import { createTestContext } from '../../../../../support/context.ts';
import { overflowWordings } from '../../../../../support/overflow-wordings.ts';
import { runStream } from '../../../../../support/run-stream.ts';

const overflow = { status: 400, type: 'invalid_request', code: 'context_length_exceeded', param: 'input' };
const errorUnder = (status: number, error: object) =>
  translateError({ status, contentType: 'application/json', body: JSON.stringify({ error }), retryAfter: null });

describe.each(overflowWordings)('%s says “%s”', (_, message) => {
  it.each([400, 413, 500])('under %i', (status) => {
    expect(errorUnder(status, { message })).toMatchObject({ ...overflow, message });
  });

  it.each([
    ['a chunk', `data: ${JSON.stringify({ error: { message } })}\n\n`],
    ['an event', `event: error\ndata: ${JSON.stringify({ message })}\n\n`],
    ['the field of that name', `error: ${JSON.stringify({ code: 500, message })}\n\ndata: [DONE]\n\n`],
    ['a line that is not JSON', `data: ${message}\n\ndata: [DONE]\n\n`],
    [
      'OpenRouter’s metadata',
      `data: ${JSON.stringify({ error: { message: 'Provider returned error', metadata: { raw: message } } })}\n\n`,
    ],
  ])('in a stream, in %s', (_where, stream) => {
    expect(runStream([Buffer.from(stream)], createTestContext()).failure).toMatchObject(overflow);
  });
});

it('each row of the table has a server’s error', () => {
  for (const [of, wording] of overflowTable)
    expect(
      overflowWordings.filter(([, message]) => new RegExp(wording, 'i').test(message)),
      of,
    ).not.toEqual([]);
});

describe('what is no overflow', () => {
  it('a wish for more output than there may be (Cohere): compacting the conversation would not help', () => {
    const message =
      'too many tokens: max tokens must be less than or equal to 4096, the maximum output length for this model - received 8192.';
    expect(errorUnder(400, { message })).toMatchObject({ status: 400, code: 'invalid_request' });
  });

  it.each([
    'Rate limit reached: daily token limit exceeded.',
    'Token limit exceeded, please wait 20 seconds.',
    'too many tokens: please wait a minute',
    'The message is too long for a label.',
  ])('“%s”', (message) => {
    expect(errorUnder(429, { message })).toMatchObject({ status: 429, code: 'rate_limit_exceeded' });
  });
});

describe('words of a profile', () => {
  const profileWith = (contextOverflow: readonly string[], flags = {}) =>
    readProfilesFile(
      JSON.stringify({ profiles: { mine: { extends: 'vllm', contextOverflow, ...flags } } }),
      'profiles.yaml',
    ).get('mine');

  it('are known beside those of all servers, in bodies and in streams', () => {
    const profile = profileWith(['/the scroll is full \\(\\d+ runes\\)/i']);
    const message = 'The scroll is full (900 runes)';
    const body = JSON.stringify({ error: { message } });
    const answer = { status: 500, contentType: 'application/json', body, retryAfter: null };
    expect(translateError(answer)).toMatchObject({ status: 500 });
    expect(translateError(answer, profile?.contextOverflow)).toMatchObject(overflow);
    const context = { ...createTestContext(), profile: profile ?? expect.fail('no profile') };
    expect(runStream([Buffer.from(`data: ${body}\n\n`)], context).failure).toMatchObject(overflow);
  });

  it('take time in proportion to the message, whatever the expression', () => {
    const [wording] = profileWith(['/^(a+)+$/'])?.contextOverflow ?? [];
    // JavaScript's own engine would not live to see the end of this.
    expect(wording?.test(`${'a'.repeat(2000)}!`)).toBe(false);
    expect(wording?.test('aaa')).toBe(true);
  });

  it.each([
    [['/(a+)\\1/'], /profile 'mine': flag 'contextOverflow': \/\(a\+\)\\1\/ cannot be matched in linear time/],
    [['/a(?!b)/'], /profile 'mine': flag 'contextOverflow': \/a\(\?!b\)\/ cannot be matched in linear time/],
    [['full'], /profile 'mine': flag 'contextOverflow' takes a list of/],
    [[`/${'a'.repeat(200)}/`], /profile 'mine': flag 'contextOverflow' takes a list of/],
    [Array.from({ length: 51 }, (_, index) => `/${index}/`), /profile 'mine': flag 'contextOverflow' takes a list of/],
  ])('are refused by name: %s', (wordings, problem) => {
    expect(() => profileWith(wordings)).toThrow(problem);
  });

  it('are refused in a rule for some models too', () => {
    const models = { '/qwen/': { contextOverflow: ['/(?=a)b/'] } };
    expect(() => profileWith([], { models })).toThrow(
      /profile 'mine', models '\/qwen\/': flag 'contextOverflow': \/\(\?=a\)b\/ cannot/,
    );
  });
});
