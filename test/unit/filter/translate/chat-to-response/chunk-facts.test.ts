import { expect, it } from 'vitest';
import { readChunkFacts } from '../../../../../src/filter/translate/chat-to-response/chunk-facts.ts';

const none = { error: null, hasChoice: false, text: '', reasoningFields: [], logprobs: 0, fingerprint: '' };

it.each([null, 'text', 5, [], {}, { choices: [] }, { choices: null, system_fingerprint: 5 }])(
  '%j holds nothing',
  (value) => {
    expect(readChunkFacts(value)).toEqual(none);
  },
);

it('a chunk tells its text, its logprobs, its fingerprint and the fields of its reasoning', () => {
  const chunk = {
    system_fingerprint: 'fp_1',
    choices: [
      {
        delta: {
          content: 'Yes',
          reasoning_content: 'Hm.',
          reasoning_details: [{ type: 'reasoning.encrypted', data: 'x' }],
        },
        logprobs: { content: [{ token: 'Yes', logprob: -1 }, { token: null }] },
      },
    ],
  };
  expect(readChunkFacts(chunk)).toEqual({
    ...none,
    hasChoice: true,
    text: 'Yes',
    reasoningFields: ['reasoning_content', 'reasoning_details'],
    logprobs: 1,
    fingerprint: 'fp_1',
  });
});

it.each([
  ['reasoning', 'Hm.'],
  ['content', [{ type: 'thinking', thinking: 'Hm.' }]],
  ['thinking', 'Hm.'],
  ['thinking_blocks', [{ type: 'thinking', thinking: 'Hm.' }]],
])('reasoning in %s of a whole message is found, and is no text of a delta', (field, value) => {
  const completion = { choices: [{ message: { [field]: value } }] };
  expect(readChunkFacts(completion)).toEqual({ ...none, hasChoice: true, reasoningFields: [field] });
});

it('an error in place of an answer is told', () => {
  expect(readChunkFacts({ error: { message: 'No such model.' } }).error?.message).toContain('No such model.');
});
