import { expect, test } from 'vitest';
import { messageOf } from '../../../../src/service/settings/error-texts.ts';

test('what was thrown is told by its message, or as it is where it is no error', () => {
  expect([new TypeError('a message'), 'a text', undefined].map(messageOf)).toEqual([
    'a message',
    'a text',
    'undefined',
  ]);
});
