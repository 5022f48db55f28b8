import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { type TerminalLine, terminalFile, terminalSvg } from '../../../scripts/record/terminal-recording.ts';
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

it('README’s picture shows its commands and the end of the answer (else: node scripts/record/terminal-recording.ts)', () => {
  expect(readme).toContain('src="docs/images/terminal.svg"');
  const svg = readFileSync(terminalFile, 'utf8');
  const { start } = readmeCommands(readme);
  for (const text of [`$ ${start}`, 'event: response.completed', 'data: [DONE]']) expect(textOf(svg)).toContain(text);
  // It runs and loads nothing, and names no folder of the machine it was made on.
  expect(svg.replace('http://www.w3.org/2000/svg', '')).not.toMatch(/<script|<image|href|url\(|@import|\son\w+=/i);
  expect(svg).not.toMatch(/\/(?:home|root|work|Users|tmp)\//);
});

it('a picture has the last lines, markup as text, and long lines without their middle', () => {
  const line = (text: string, kind: TerminalLine['kind'] = 'output'): TerminalLine => ({ pane: 'client', text, kind });
  const many = Array.from({ length: 20 }, (_, index) => line(`line ${index}`));
  const svg = terminalSvg([line('ls', 'command'), ...many, line('<script> &amp;'), line(`data: {${'x'.repeat(500)}}`)]);
  expect(svg).not.toContain('<script');
  const shown = textOf(svg);
  expect(shown).not.toContain('$ ls');
  expect(shown).toContain('<script> &amp;');
  expect(shown.at(-1)).toMatch(/^data: \{x+…x+\}$/);
  expect(shown.at(-1)).toHaveLength(100);
});
