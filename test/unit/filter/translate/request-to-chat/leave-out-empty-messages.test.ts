import { describe, expect, it } from 'vitest';
import { translateRequest } from '../../../../../src/filter/translate/translate-request.ts';
import { builtInProfiles } from '../../../../../src/filter/upstream/profiles.ts';
import type { ChatMessage } from '../../../../../src/filter/wire/schema/chat-request.ts';
import { createCountedIds } from '../../../../support/context.ts';
import { createTestSettings } from '../../../../support/settings.ts';

/** What servers refuse, in their words. */
const refusals: Readonly<Record<string, (message: ChatMessage) => boolean>> = {
  "Kimi: the message at position N with role 'assistant' must not be empty": ({ content, tool_calls }) =>
    (content == null || content === '') && tool_calls === undefined,
  'Mistral: Assistant message must have either content or tool_calls, but not none': ({ content, tool_calls }) =>
    (content == null || content === '') && tool_calls === undefined,
  'Anthropic: all messages must have non-empty content': ({ content, tool_calls }) =>
    String(content ?? '').trim() === '' && tool_calls === undefined,
};

const output = (text: string) => ({ type: 'output_text', text });
const input = [output(''), output(' \n'), output('Ebb.'), output(''), { type: 'refusal', refusal: '' }].flatMap(
  (part) => [
    { role: 'user', content: 'Tide?' },
    { type: 'message', role: 'assistant', content: [part] },
  ],
);

describe.each([...builtInProfiles.keys()])('%s', (profile) => {
  it.each(Object.entries(refusals))('sends no assistant turn with nothing in it: %s', (_, refuses) => {
    const settings = createTestSettings({ profile });
    const request = { model: 'test-model', input: [...input, { role: 'user', content: 'Hello?' }] };
    const { chat } = translateRequest(request, settings, { now: () => 1, newId: createCountedIds() });
    const assistants = chat.messages.filter(({ role }) => role === 'assistant');
    expect(assistants).toMatchObject([{ content: expect.anything() }]);
    expect(assistants.filter(refuses)).toEqual([]);
  });
});
