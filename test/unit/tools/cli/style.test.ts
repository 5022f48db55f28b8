import { describe, expect, it } from 'vitest';
import {
  computeIndent,
  createPlainStyle,
  createStyle,
  escapeControls,
  escapeOutput,
  joinSections,
  parseOptions,
  UsageError,
  wrapText,
  writeSection,
  writeTableRow,
} from '../../../../src/tools/cli/terminal.ts';

type Output = Parameters<typeof createStyle>[0]['stdout'];

describe('colours', () => {
  const colours = { green: 32, bold: 1, dim: 2, red: 31, yellow: 33, blue: 34, magenta: 35, cyan: 36 } as const;
  const names = Object.keys(colours) as (keyof typeof colours)[];

  it.each([
    ['on a terminal', {}, true, true],
    ['in a pipe', {}, false, false],
    ['in a pipe that is no terminal', {}, undefined, false],
    ['on a dumb terminal', { TERM: 'dumb' }, true, false],
    ['on another terminal', { TERM: 'xterm' }, true, true],
    ['where they are not wanted', { NO_COLOR: '1' }, true, false],
    ['where nothing is said of them', { NO_COLOR: '', FORCE_COLOR: '' }, true, true],
    ['in a pipe that shall have them', { FORCE_COLOR: '1' }, false, true],
    ['on a dumb terminal that shall have them', { FORCE_COLOR: 'true', TERM: 'dumb' }, true, true],
    ['on a terminal that shall not', { FORCE_COLOR: '0' }, true, false],
    ['where they are wanted and not', { FORCE_COLOR: '1', NO_COLOR: '1' }, true, false],
  ])('%s: %j', (_name, env, isTTY, hasColours) => {
    const { paint } = createStyle({ env, stdout: { isTTY } as Output });
    const painted = names.map((name) => paint(name, 'x'));
    expect(painted).toEqual(names.map((name) => (hasColours ? `\u001b[${colours[name]}mx\u001b[0m` : 'x')));
    expect(paint('red', '')).toBe('');
  });

  it.each([
    [undefined, 120],
    [0, 120],
    [59, 60],
    [61, 61],
    [500, 500],
  ])('lines for %s columns have %i', (columns, width) => {
    for (const FORCE_COLOR of ['0', '1'])
      expect(createStyle({ env: { FORCE_COLOR }, stdout: { columns } as Output }).width).toBe(width);
  });
});

describe('what a terminal would act on', () => {
  it('is shown as in JSON', () => {
    expect(escapeControls('a\u0007b\u001b[31m\n\u202eé\u{1f600}')).toBe('a\\u0007b\\u001b[31m\\u000a\\u202eé\u{1f600}');
  });

  it('is taken out of a whole text, but for line ends and its own colours', () => {
    const text = 'a\n\u001b[1mb\u001b[0m\u001b[31mc\u001b[2Jd\u001b[131m\r\u2066';
    expect(escapeOutput(text)).toBe('a\n\u001b[1mb\u001b[0m\u001b[31mc\\u001b[2Jd\\u001b[131m\\u000d\\u2066');
  });
});

it.each([
  ['one two three', 7, '', ['one two', 'three']],
  ['one two three', 6, '', ['one', 'two', 'three']],
  ['one two three', 13, '  ', ['one two three']],
  ['one two three', 8, '  ', ['one two', '  three']],
  ['a-very-long-word and', 5, '', ['a-very-long-word', 'and']],
  ['', 5, '', ['']],
  ['a\tb c', 4, '-', ['a\\u0009b', '-c']],
])('%j in lines of %i', (text, width, indent, lines) => {
  expect(wrapText(text, width, indent)).toEqual(lines);
});

it('without an indent the lines begin where they are', () => {
  expect(wrapText('one two', 3)).toEqual(['one', 'two']);
});

describe('columns', () => {
  const style = createStyle({ env: { FORCE_COLOR: '1' }, stdout: {} as Output });

  it('begin after one another', () => {
    expect([computeIndent([]), computeIndent([3]), computeIndent([3, 4])]).toEqual([0, 5, 11]);
  });

  it('of a row are filled up, with the lines of the last one below one another', () => {
    const cells = [
      { text: 'a', width: 3, colour: 'red' },
      { text: 'too long', width: 4 },
    ] as const;
    expect(writeTableRow(cells, ['one', 'two'], createPlainStyle(80))).toEqual([
      'a    too long  one',
      '               two',
    ]);
    expect(writeTableRow(cells, ['one'], style)).toEqual(['\u001b[31ma  \u001b[0m  too long  one']);
    expect(writeTableRow([{ text: 'a', width: 3 }], [], createPlainStyle(80))).toEqual(['a']);
  });

  it('stand in sections and blocks, of which the empty ones are left out', () => {
    expect(writeSection('Title', ['one', 'two'], style)).toEqual(['\u001b[1mTitle\u001b[0m', '  one', '  two']);
    expect(writeSection('Title', [], style)).toEqual([]);
    expect(joinSections([['a', 'b'], [], ['c']])).toBe('a\nb\n\nc\n');
  });
});

it('options are read, and what is not one is wrong usage', () => {
  const options = { short: { type: 'string', short: 's' }, on: { type: 'boolean' } } as const;
  const { values, positionals } = parseOptions(['one', '-s', 'x', '--on', 'two'], options);
  expect([{ ...values }, positionals]).toEqual([{ short: 'x', on: true }, ['one', 'two']]);
  expect(() => parseOptions(['--none'], options)).toThrow(UsageError);
  expect(() => parseOptions(['-s'], options)).toThrow(UsageError);
});
