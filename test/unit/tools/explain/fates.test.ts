import { expect, test } from 'vitest';
import { isThere } from '../../../../src/tools/explain/fates.ts';

const at = (content: unknown, index = 0) => ({
  path: ['messages', index],
  value: { role: 'user', content },
  sources: [],
});

test.each<[string, unknown, unknown, boolean]>([
  ['the same text', 'a', 'a', true],
  ['a text that was joined with others', 'a', 'b\n\na\n\nc', true],
  ['a text that was joined with others in a part', 'a', [{ type: 'text', text: 'b\n\na' }], true],
  ['half a paragraph', 'a', 'ab\n\nc', false],
  ['a text beside a picture alone', 'a', [{ type: 'image_url', image_url: {} }], false],
])('a message is found where Chat has %s', (_, content, other, expected) => {
  expect(isThere(at(content), [at('x', 1), at(other, 2)])).toBe(expected);
  expect(isThere(at(content), [{ ...at(other), path: ['tools', 0] }])).toBe(false);
});
