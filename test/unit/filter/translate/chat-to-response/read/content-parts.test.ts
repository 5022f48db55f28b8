import { describe, expect, it } from 'vitest';
import {
  readContentTexts,
  splitStretches,
} from '../../../../../../src/filter/translate/chat-to-response/read/content-parts.ts';

describe('readContentTexts', () => {
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
    expect(readContentTexts(content)).toEqual({ text: '', thinking: '', refusal: '', ...expected });
  });
});

describe('splitStretches', () => {
  const think = (thinking: string) => ({ type: 'thinking', thinking });
  const say = (text: string) => ({ type: 'text', text });
  const nothing = { type: 'reference', reference_ids: [1] };

  it.each([
    ['a text', 'a', []],
    ['an object', think('a'), []],
    ['one part', [think('a')], []],
    ['texts alone', [say('a'), say('b')], [[0, 1]]],
    ['thinking in pieces, and then text', [think('a'), think('b'), say('c')], [[0, 1, 2]]],
    ['text before thinking', [say('a'), think('b'), say('c')], [[0], [1, 2]]],
    [
      'thinking after each text',
      [think('a'), say('b'), say('c'), think('d'), say('e')],
      [
        [0, 1, 2],
        [3, 4],
      ],
    ],
    ['thinking in pieces after a text', [say('a'), think('b'), think('c'), say('d')], [[0], [1, 2, 3]]],
    ['what says nothing, wherever it is', [think('a'), nothing, think('b'), say('c'), nothing], [[0, 1, 2, 3, 4]]],
    ['empty texts and thoughts', [think('a'), say(''), think('b'), say('c'), think('')], [[0, 1, 2, 3, 4]]],
  ])('%s', (_what, content, stretches) => {
    expect(splitStretches(content)).toEqual(
      stretches.map((stretch) => stretch.map((index) => (content as unknown[])[index])),
    );
  });
});
