import { describe, expect, it } from 'vitest';
import { contentOf } from '../../../../src/translate/chat/content-parts.ts';

describe('contentOf', () => {
  it.each([
    ['a text', 'a', { text: 'a' }],
    ['an empty text', '', {}],
    ['null', null, {}],
    ['nothing', undefined, {}],
    ['a number', 3, {}],
    ['an empty list', [], {}],
    ['texts in a list', ['a', 'b'], { text: 'ab' }],
    [
      'parts under any name of text',
      [{ type: 'text', text: 'a' }, { type: 'output_text', text: 'b' }, { text: 'c' }],
      { text: 'abc' },
    ],
    ['thinking as a text', [{ type: 'thinking', thinking: 'a' }], { thinking: 'a' }],
    ['thinking as parts', [{ type: 'thinking', thinking: [{ type: 'text', text: 'a' }, 'b'] }], { thinking: 'ab' }],
    ['reasoning parts', [{ type: 'reasoning', text: 'a' }], { thinking: 'a' }],
    [
      'refusals',
      [
        { type: 'refusal', refusal: 'No' },
        { type: 'refusal', refusal: '.' },
      ],
      { refusal: 'No.' },
    ],
    ['parts of the wrong type', [null, 3, [], { type: 'text', text: 3 }, { type: 'thinking' }, { type: 7 }], {}],
    ['an object', { a: [1] }, { text: '{"a":[1]}' }],
  ])('reads %s', (_, content, expected) => {
    expect(contentOf(content)).toEqual({ text: '', thinking: '', refusal: '', ...expected });
  });
});
