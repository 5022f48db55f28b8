import { expect, it } from 'vitest';
import { translateCompletion } from '../../../../../../src/filter/translate/chat-to-response/completion.ts';
import { StreamTranslator } from '../../../../../../src/filter/translate/chat-to-response/stream.ts';
import { createTestContext } from '../../../../../support/context.ts';

const field = (type: string) => ({ kind: 'field', type });

it('fields of a completion that nobody reads are named once, null ones not', () => {
  const choice = { index: 0, message: { content: 'a', mood: 'calm', annotations: [] }, tint: 1, logprobs: null };
  const { unread } = translateCompletion({ choices: [choice, choice], acme: {}, timings: null }, createTestContext());
  expect(unread).toEqual([field('acme'), field('choices[].tint'), field('message.mood')]);
});

it('fields and events of a stream that nobody reads are named once', () => {
  const translator = new StreamTranslator(createTestContext());
  const chunk = { choices: [{ index: 0, delta: { content: 'a', mood: 'calm' } }], acme: 1 };
  translator.push(chunk);
  translator.push(chunk);
  expect(translator.push({ step: 1 }, 'acme:trace')).toEqual([]);
  expect(translator.push(null, 'acme:trace')).toEqual([]);
  expect(translator.summary().unread).toEqual([
    field('acme'),
    field('message.mood'),
    { kind: 'event', type: 'acme:trace' },
  ]);
  expect(translator.summary().repairs).toEqual([]);
});

it('parts, annotations, keys of usage and sound that a Response cannot have are named', () => {
  const content = [
    { type: 'text', text: 'a' },
    { type: 'acme:widget' },
    { type: 'video_url', video_url: {} },
    { url: 1 },
  ];
  const annotations = [
    { type: 'url_citation', url: 'u' },
    { type: 'file_path', file_id: 'f' },
    { type: 'file_citation' },
  ];
  const message = { content, annotations, audio: { data: 'AA==', transcript: '' } };
  const details = { cached_tokens: 1, audio_tokens: 2, text_tokens: 0 };
  const usage = { prompt_tokens: 3, cost: 0.1, is_byok: false, tokens: 0, prompt_tokens_details: details };
  const { unread } = translateCompletion({ choices: [{ message }], usage, moderation: [1] }, createTestContext());
  expect(unread).toEqual([
    field('usage.cost'),
    field('usage.is_byok'),
    field('usage.prompt_tokens_details.audio_tokens'),
    field('moderation'),
    { kind: 'part', type: 'acme:widget' },
    { kind: 'part', type: 'video_url' },
    field('message.annotations[].file_path'),
    field('message.annotations[].file_citation'),
    field('message.audio.data'),
  ]);
});

it('no vendor’s spelling of usage is named', () => {
  const tokens = ['prompt_tokens', 'completion_tokens', 'input_tokens', 'output_tokens', 'total_tokens'];
  const vendors = [
    'num_cached_tokens',
    'reasoning_tokens',
    'prompt_cache_hit_tokens',
    'cached_tokens',
    'cache_read_tokens',
  ];
  const anthropic = ['cache_read_input_tokens', 'cache_creation_input_tokens'];
  const details = [
    'prompt_tokens_details',
    'completion_tokens_details',
    'input_tokens_details',
    'prompt_token_details',
  ];
  const ofDetails = ['cached_tokens', 'cache_write_tokens', 'cache_creation_tokens', 'cache_creation_input_tokens'];
  const valuesOf = (names: readonly string[], value: unknown) => Object.fromEntries(names.map((name) => [name, value]));
  const usage = {
    ...valuesOf([...tokens, ...vendors, ...anthropic], 1),
    ...valuesOf(details, valuesOf([...ofDetails, 'reasoning_tokens'], 1)),
  };
  expect(translateCompletion({ choices: [{ message: { content: 'a' } }], usage }, createTestContext()).unread).toEqual(
    [],
  );
});

it('a part that is passed on is not named, but one that is too long, and one of a summary', () => {
  const content = [
    { type: 'text', text: 'a' },
    { type: 'acme:widget' },
    { type: 'acme:big', data: 'x'.repeat(65_536) },
  ];
  const completion = { choices: [{ message: { content }, finish_reason: 'stop' }] };
  const context = (kind?: 'compaction') =>
    createTestContext({ profileFlags: { passExtensions: true }, ...(kind && { kind }) });
  const { unread, response } = translateCompletion(completion, context());
  expect(unread).toEqual([{ kind: 'part', type: 'acme:big' }]);
  expect(JSON.stringify(response.output)).toContain('acme:widget');
  expect(JSON.stringify(response.output)).not.toContain('acme:big');
  const folded = translateCompletion(completion, context('compaction'));
  expect(folded.unread.map(({ type }) => type)).toEqual(['acme:widget', 'acme:big']);
});

it('an event of that form that has choices or an error is read like any other', () => {
  const translator = new StreamTranslator(createTestContext());
  translator.push({ choices: [{ index: 0, delta: { content: 'a' } }] }, 'acme:chunk');
  const events = translator.push({ error: { message: 'no' } }, 'acme:error');
  expect(events.map(({ type }) => type)).toContain('response.failed');
  expect(translator.summary().unread).toEqual([]);
});

it('no more than 32 names are kept, each of 100 characters', () => {
  const many = Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`${index}x`.padEnd(200, 'y'), 1]));
  const { unread } = translateCompletion({ ...many, choices: [{ message: { content: 'a' } }] }, createTestContext());
  expect(unread).toHaveLength(32);
  expect(new Set(unread.map(({ type }) => type.length))).toEqual(new Set([100]));
});
