/**
 * The picture of two terminals in README.md: `node scripts/record/terminal-recording.ts` runs README's own commands (`npm start`, and the
 * request below it), and writes docs/images/terminal.svg. Port 10000 must be free. It shows what was printed last, except that long
 * lines lose their middle.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { isPortFree } from '../../mesh/ports.ts';
import { type Child, startChild } from '../../mesh/processes.ts';
import { readmeCommands } from '../tests/readme-commands.ts';

type PaneName = 'mesh' | 'client';

/** A line of a pane: a command, or what it printed. */
export interface TerminalLine {
  readonly pane: PaneName;
  readonly text: string;
  readonly kind: 'command' | 'output';
}

export const terminalFile = join(import.meta.dirname, '../../docs/images/terminal.svg');

const columns = 100;
const characterWidth = 8.45;
const lineHeight = 18;
const margin = 16;
const titleHeight = 28;
const panes = [
  { name: 'mesh', title: 'one terminal', rows: 19 },
  { name: 'client', title: 'another terminal', rows: 16 },
] as const satisfies readonly { readonly name: PaneName; readonly title: string; readonly rows: number }[];

/** Runs the commands. Rejects when the port is taken, a process ends early, or the answer is not the one that README shows. */
async function record(readme: string): Promise<readonly TerminalLine[]> {
  const { start, curl } = readmeCommands(readme);
  const port = Number(/127\.0\.0\.1:(\d+)/.exec(curl)?.[1]);
  if (!(await isPortFree(port))) throw new Error(`README's request goes to port ${port}, which is taken.`);
  const lines: TerminalLine[] = [];
  const add = (pane: PaneName, kind: TerminalLine['kind'], text: string): void => {
    lines.push({ pane, text, kind });
  };
  const printed = async (pane: PaneName, pattern: RegExp, child: Child): Promise<void> => {
    let over = false;
    void child.ended.then(() => {
      over = true;
    });
    while (!lines.some((line) => line.pane === pane && pattern.test(line.text))) {
      if (over) throw new Error(`${child.name} ended without printing ${pattern}.`);
      await delay(10);
    }
  };

  // The recording must not depend on the settings of whoever records it.
  const environment = { ...process.env, NPM_CONFIG_USERCONFIG: '/dev/null', NODE_OPTIONS: '' };
  const run = (pane: PaneName, command: string): Child => {
    add(pane, 'command', command);
    return startChild(command, 'bash', ['-c', command], { environment, onLine: (text) => add(pane, 'output', text) });
  };
  const mesh = run('mesh', start);
  try {
    await printed('mesh', /\/inspect$/, mesh);
    await printed('mesh', /^service \|.*"msg":"listening"/, mesh);
    const client = run('client', curl);
    await client.ended;
    if (!lines.some(({ text }) => text === 'data: [DONE]')) throw new Error('The answer is not complete.');
    await printed('mesh', /^service \|.*"msg":"exchange"/, mesh);
    await printed('mesh', /^envoy {3}\|/, mesh);
    return [...lines]; // what it prints when it is stopped is not shown
  } finally {
    await mesh.stop();
  }
}

/** The end of each pane as an SVG. */
export function terminalSvg(lines: readonly TerminalLine[]): string {
  const width = Math.ceil(columns * characterWidth + 2 * margin);
  const drawn: string[] = [];
  let top = 0;
  for (const { name, title, rows } of panes) {
    const height = titleHeight + rows * lineHeight + margin;
    const own = lines.filter(({ pane }) => pane === name).flatMap(rowsOf);
    drawn.push(
      `<g transform="translate(0 ${top})">`,
      `<rect class="back" x=".5" y=".5" width="${width - 1}" height="${height - 1}" rx="8"/>`,
      `<text class="dim" x="${margin}" y="19">${title}</text>`,
      ...own
        .slice(-rows)
        .map((row, index) => `<text x="${margin}" y="${titleHeight + index * lineHeight + 14}">${row}</text>`),
      '</g>',
    );
    top += height + 8;
  }
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${top - 8}" role="img" xml:space="preserve">`,
    '<!-- Written by scripts/record/terminal-recording.ts -->',
    '<title>npm start, and a request in another terminal</title>',
    `<style>${styles.join('')}</style>`,
    ...drawn,
    '</svg>',
  ].join('\n')}\n`;
}

const styles = [
  'text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;white-space:pre;fill:#1f2328}',
  '.back{fill:#f6f8fa;stroke:#d1d9e0}.dim{fill:#59636e}.green{fill:#1a7f37}.blue{fill:#0550ae}',
  '@media(prefers-color-scheme:dark){text{fill:#e6edf3}.back{fill:#151b23;stroke:#3d444d}',
  '.dim{fill:#9198a1}.green{fill:#3fb950}.blue{fill:#79c0ff}}',
];

/** The rows of a line, as they are drawn: a command may have several. */
function rowsOf({ text, kind }: TerminalLine): readonly string[] {
  if (kind === 'output') return [coloured(fitted(text))];
  return text.split('\n').map((part, index) => (index === 0 ? span('green', '$ ') : '') + escaped(part));
}

/** A line that is too long without its middle: an event's type is at its beginning, and its contents near its end. */
function fitted(text: string): string {
  if (text.length <= columns) return text;
  return `${text.slice(0, columns / 2)}…${text.slice(1 - columns / 2)}`;
}

function coloured(text: string): string {
  if (/^(service|envoy) +\|/.test(text)) return span('dim', text);
  if (text.startsWith('ready ')) return span('green', text);
  const [, label, name] = /^(event: )(.+)$/.exec(text) ?? [];
  if (label !== undefined && name !== undefined) return span('dim', label) + span('blue', name);
  return text.startsWith('data: ') ? span('dim', 'data: ') + escaped(text.slice(6)) : escaped(text);
}

function span(style: string, text: string): string {
  return `<tspan class="${style}">${escaped(text)}</tspan>`;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

if (import.meta.main)
  writeFileSync(
    terminalFile,
    terminalSvg(await record(readFileSync(join(import.meta.dirname, '../../README.md'), 'utf8'))),
  );
