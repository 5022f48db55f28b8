import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  maxRecordingBytes,
  maxRecordingSeconds,
  type RecordedLine,
  stillOf,
  terminalFile,
  terminalStillFile,
  terminalSvg,
} from '../../../scripts/record/terminal-recording.ts';
import { readmeCommands } from '../../../scripts/tests/readme-commands.ts';

const readme = readFileSync(join(import.meta.dirname, '../../../README.md'), 'utf8');

/** What a reader sees, line by line. */
function textOf(svg: string): readonly string[] {
  return [...svg.matchAll(/<text[^>]*>(.*?)<\/text>/g)].map(([, text = '']) =>
    text
      .replace(/<[^>]*>/g, '')
      .replaceAll('&lt;', '<')
      .replaceAll('&gt;', '>')
      .replaceAll('&amp;', '&'),
  );
}

/** When each line or character appears, in seconds. */
function timesOf(svg: string): readonly number[] {
  return [...svg.matchAll(/animation-delay:([\d.]+)s/g)].map(([, seconds]) => Number(seconds));
}

function line(at: number, text: string, kind: RecordedLine['kind'] = 'output'): RecordedLine {
  return { pane: 'client', at, text, kind };
}

describe('docs/images/terminal.svg', () => {
  const svg = readFileSync(terminalFile, 'utf8');

  it('shows the commands of README.md, and an answer to its end (else: node scripts/record/terminal-recording.ts)', () => {
    expect(readme).toContain('src="docs/images/terminal.svg"');
    const { start, curl } = readmeCommands(readme);
    const [first = '', ...more] = curl.split('\n');
    const shown = textOf(svg);
    for (const text of [`$ ${start}`, `$ ${first}`, ...more, 'event: response.completed', 'data: [DONE]'])
      expect(shown).toContain(text);
  });

  it('is small, short, and runs and loads nothing', () => {
    expect(Buffer.byteLength(svg)).toBeLessThanOrEqual(maxRecordingBytes);
    expect(Math.max(...timesOf(svg))).toBeLessThanOrEqual(maxRecordingSeconds);
    expect(svg.replace('http://www.w3.org/2000/svg', '')).not.toMatch(
      /<script|<foreignObject|<image|href|url\(|@import|\son\w+=/i,
    );
    expect(svg).toContain('@media(prefers-reduced-motion:reduce){*{animation:none!important}}');
    expect(svg).toContain('@media(prefers-color-scheme:dark)');
  });

  it('has its last frame beside it', () => {
    expect(readFileSync(terminalStillFile, 'utf8')).toBe(stillOf(svg));
    expect(stillOf(svg)).not.toBe(svg);
  });

  it('names no folder of the machine it was made on', () => {
    expect(svg).not.toMatch(/\/(?:home|root|work|Users|tmp)\//);
  });
});

describe('a recording', () => {
  it('keeps the times of the lines, but for long waits', () => {
    const svg = terminalSvg([line(100, 'a'), line(400, 'b'), line(60_400, 'c')]);
    expect(timesOf(svg)).toEqual([0.1, 0.4, 1.9]);
  });

  it('types a command, a character after the other, before its output', () => {
    const times = timesOf(terminalSvg([line(0, 'ls -l', 'command'), line(0, 'total 0')]));
    expect(times).toHaveLength(6);
    expect(times).toEqual(times.toSorted((one, other) => one - other));
  });

  it('shows markup as text, and a long line without its middle', () => {
    const svg = terminalSvg([line(0, '<script>alert(1)</script> &amp;'), line(0, `data: {${'x'.repeat(500)}}`)]);
    expect(svg).not.toContain('<script');
    const [, , markup, long = ''] = textOf(svg);
    expect(markup).toBe('<script>alert(1)</script> &amp;');
    expect(long).toMatch(/^data: \{x+…x+\}$/);
    expect(long).toHaveLength(100);
  });

  it('is refused when it takes too long, or too many bytes', () => {
    const slow = Array.from({ length: 20 }, (_, index) => line(index * 2000, 'a'));
    expect(() => terminalSvg(slow)).toThrow('The recording takes 28.5 s; it may take 20.');
    const large = Array.from({ length: 1000 }, () => line(0, 'a'.repeat(100)));
    expect(() => terminalSvg(large)).toThrow(/The recording has \d{6} bytes; it may have 100000\./);
  });
});
