import { describe, expect, it } from 'vitest';
import { escapeInvisible, writeJsonLines, writeTextLines } from '../../../../../src/tools/inspect/view/json-lines.ts';

function marked(value: unknown, options: Parameters<typeof writeJsonLines>[1]): string[] {
  return writeJsonLines(value, options).map(
    ({ mark, depth, key, text, note }) =>
      `${mark ?? '-'} ${' '.repeat(depth)}${key === null ? '' : `${key}: `}${text}${note === null ? '' : ` (${note})`}`,
  );
}

describe('a body as lines', () => {
  it('breaks long texts at line ends and between words, and loses nothing', () => {
    const text = `One two three\nfour ${'x'.repeat(50)} é𝄞`;
    const lines = writeJsonLines({ text }, { columns: 30 });
    expect(lines.every((line) => line.text.length <= 30)).toBe(true);
    const written = lines.slice(1, -1).map((line) => line.text);
    expect(JSON.parse(written.join(''))).toBe(text);
  });

  it('shows the beginning of a text of megabytes', () => {
    const lines = writeJsonLines({ url: 'x'.repeat(5_000_000) }, { columns: 100 });
    expect(lines.length).toBeLessThan(5_000);
    const end = lines.slice(-4).map(({ text }) => text);
    expect(end.join('')).toContain('more characters, in the download');
  });

  it('writes control characters, and those that turn text, as their code points', () => {
    expect(escapeInvisible('a\u202eb\u2066\u0000\u001b\u200f\ufeff')).toBe(
      'a\\u202eb\\u2066\\u0000\\u001b\\u200f\\ufeff',
    );
    expect(escapeInvisible('é 漢字 𝄞 🙂\tx')).toBe('é 漢字 𝄞 🙂\tx');
    const [, line] = writeJsonLines({ 'k\u202e': 'v\u202e' }, { columns: 80 });
    expect(line).toMatchObject({ key: 'k\\u202e', text: '"v\\u202e"' });
    expect(writeTextLines('a\u202e', 80)[0]?.text).toBe('a\\u202e');
  });

  it('marks what is known of a path, and of all in it', () => {
    const explained = new Map([
      ['input[0]', { mark: 'moved', note: '→ messages[1]' }],
      ['input[1]', { mark: 'dropped', note: 'dropped' }],
    ] as const);
    const body = { model: 'm', input: [{ text: 'Hi' }, 'Ho'] };
    expect(marked(body, { columns: 80, explained })).toEqual([
      '- {',
      '-  model: "m",',
      '-  input: [',
      'moved   { (→ messages[1])',
      'moved    text: "Hi"',
      'moved   },',
      'dropped   "Ho" (dropped)',
      '-  ]',
      '- }',
    ]);
  });

  it('has a note above its value where there is no room beside it', () => {
    const note = '← input[0].content[0].text';
    const explained = new Map([['text', { mark: 'moved', note }]] as const);
    const at = (columns: number) => marked({ text: 'Hi' }, { columns, explained }).slice(1, -1);
    const room = 20 + note.length + 2 + 'text'.length + 2 + 4; // the value's, the note's, the key's, the indent's and the marks'
    expect(at(room)).toEqual([`moved  text: "Hi" (${note})`]);
    expect(at(room - 1)).toEqual([`moved   (${note})`, 'moved  text: "Hi"']);
  });

  it('finds a text in any case, also where a line ends within it', () => {
    const text = 'One two three four five six';
    const found = (lines: ReturnType<typeof writeJsonLines>) =>
      lines.filter(({ isFound }) => isFound).map((line) => line.text);
    const lines = writeJsonLines({ text, number: 123, key: 'x' }, { columns: 26, find: 'FOUR FIVE' });
    expect(found(lines)).toEqual(['"One two three four ', 'five six",']);
    expect(found(writeJsonLines({ text, number: 123 }, { columns: 80, find: '23' }))).toEqual(['123']);
    expect(found(writeJsonLines({ text }, { columns: 80, find: 'text' }))).toEqual([`"${text}"`]);
    expect(found(writeTextLines(text, 12, 'two'))).toEqual(['One two ']);
    expect(found(writeTextLines(text, 12))).toEqual([]);
  });
});
