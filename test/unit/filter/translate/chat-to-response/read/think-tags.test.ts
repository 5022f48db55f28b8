import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  ThinkTagReader,
  type ThinkTagTexts,
} from '../../../../../../src/filter/translate/chat-to-response/read/think-tags.ts';

function read(pieces: readonly string[], implicitThink = false): ThinkTagTexts {
  const reader = new ThinkTagReader({ implicitThink });
  const read = [...pieces.map((piece) => reader.push(piece)), reader.finish()];
  return { thinking: read.map(({ thinking }) => thinking).join(''), text: read.map(({ text }) => text).join('') };
}

describe('ThinkTagReader', () => {
  it.each([
    ['a block and an answer', '<think>a</think>b', { thinking: 'a', text: 'b' }],
    ['line feeds of the markup', '\n<think>\na\nb\n</think>\n\nc\n', { thinking: 'a\nb', text: 'c\n' }],
    ['a third line feed is the answer’s', '<think>a</think>\n\n\nb', { thinking: 'a', text: '\nb' }],
    ['an unclosed block stays thinking', '<think>a\n', { thinking: 'a\n', text: '' }],
    ['an unclosed block that ends like a tag', '<think>a</thi', { thinking: 'a</thi', text: '' }],
    ['another closing tag inside', '<thinking>a</think>b</thinking>c', { thinking: 'a</think>b', text: 'c' }],
    ['Seed’s tag', '<seed:think>a</seed:think>b', { thinking: 'a', text: 'b' }],
    ['Gemini’s tag', '<thought>a</thought>b', { thinking: 'a', text: 'b' }],
    ['another tag', '<reasoning>a</think></reasoning>b', { thinking: 'a</think>', text: 'b' }],
    ['MiniMax’s tag', '<mm:think>\na\n</mm:think>\n\nb', { thinking: 'a', text: 'b' }],
    ['Mistral’s tag', '[THINK]a[/THI]\n[/THINK]b', { thinking: 'a[/THI]', text: 'b' }],
    ['an empty block', '<think>\n\n</think>\n\nb', { thinking: '', text: 'b' }],
    ['no block', 'a <think>b</think>', { thinking: '', text: 'a <think>b</think>' }],
    ['a second block is text', '<think>a</think>b<think>c</think>', { thinking: 'a', text: 'b<think>c</think>' }],
    ['a closing tag nobody opened', 'a</think>b', { thinking: '', text: 'a</think>b' }],
    ['a closing tag at the start, and a blank line', '</think>\n\n\nb', { thinking: '', text: '\nb' }],
    ['a start that only looks like a tag', '<thin', { thinking: '', text: '<thin' }],
    ['blank text', ' \n', { thinking: '', text: ' \n' }],
    ['nothing', '', { thinking: '', text: '' }],
  ])('tells %s, however it is cut', (_, content, expected) => {
    expect(read([content])).toEqual(expected);
    expect(read([...content])).toEqual(expected);
    for (let cut = 1; cut < content.length; cut++)
      expect(read([content.slice(0, cut), content.slice(cut)])).toEqual(expected);
  });

  it.each([
    ['a</think>\n\nb', { thinking: 'a', text: 'b' }],
    ['\na\n</think>\n\nb', { thinking: 'a', text: 'b' }],
    ['<think>a</think>b', { thinking: 'a', text: 'b' }],
    ['a</seed:think>\nb', { thinking: 'a', text: 'b' }],
    ['a\n</thinking></think>b', { thinking: 'a', text: '</think>b' }],
    ['a[/THINK]b', { thinking: 'a', text: 'b' }],
    ['a', { thinking: 'a', text: '' }],
  ])(
    'takes everything before the closing tag for thinking when the template opened the block: %s',
    (content, expected) => {
      expect(read([content], true)).toEqual(expected);
      expect(read([...content], true)).toEqual(expected);
    },
  );

  it('gives text on at once where no tag can begin', () => {
    const reader = new ThinkTagReader({ implicitThink: false });
    expect(reader.push('<think>')).toEqual({ thinking: '', text: '' });
    expect(reader.push('abc')).toEqual({ thinking: 'abc', text: '' });
    expect(reader.push('d</')).toEqual({ thinking: 'd', text: '' });
    expect(reader.push('think>e')).toEqual({ thinking: '', text: 'e' });
    expect(reader.push('f</think>')).toEqual({ thinking: '', text: 'f</think>' });
  });

  it('reads the same from any pieces', () => {
    const word = fc.constantFrom(
      '<think>',
      '</think>',
      '\n',
      '<',
      '</',
      'think>',
      'a',
      ' ',
      '<thinking>',
      '</thinking>',
      '[THINK]',
      '[/THINK',
      ']',
    );
    fc.assert(
      fc.property(fc.array(word, { maxLength: 12 }), fc.boolean(), (pieces, implicitThink) => {
        expect(read(pieces, implicitThink)).toEqual(read([pieces.join('')], implicitThink));
      }),
    );
  });
});
