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
