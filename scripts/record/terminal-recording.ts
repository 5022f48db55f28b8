/**
 * The terminal recording of README.md: `node scripts/record/terminal-recording.ts` runs README's own commands (`npm start`, and
 * the request below it), records each line of output with its time, and writes docs/images/terminal.svg, and terminal-still.svg, its last frame.
 * Port 10000 must be free. It shows what was printed, except that long lines lose their middle, and long waits are shortened.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type Child, startChild } from '../../mesh/child-process.ts';
import { isPortFree } from '../../mesh/ports.ts';
import { readmeCommands } from '../tests/readme-commands.ts';

type PaneName = 'mesh' | 'client';

/** A line of a pane. A command is typed; output appears at once. */
export interface RecordedLine {
  readonly pane: PaneName;
  /** Milliseconds since the recording began. */
  readonly at: number;
  readonly text: string;
  readonly kind: 'command' | 'output';
}

export const terminalFile = join(import.meta.dirname, '../../docs/images/terminal.svg');
export const terminalStillFile = join(import.meta.dirname, '../../docs/images/terminal-still.svg');
/** A longer recording, or a larger file, is refused. */
export const maxRecordingSeconds = 20;
export const maxRecordingBytes = 100_000;

const columns = 100;
const characterWidth = 8.45;
const lineHeight = 18;
const margin = 16;
const titleHeight = 28;
const panes = [
  { name: 'mesh', title: 'one terminal', rows: 12 },
  { name: 'client', title: 'another terminal', rows: 16 },
] as const satisfies readonly { readonly name: PaneName; readonly title: string; readonly rows: number }[];

const msPerKey = 24;
const pauseBeforeTypingMs = 700;
const pauseAfterTypingMs = 350;
const maxWaitMs = 1500;

/** Runs the commands. Rejects when the port is taken, a process ends early, or the answer is not the one that README shows. */
async function record(readme: string): Promise<readonly RecordedLine[]> {
  const { start, curl } = readmeCommands(readme);
  const port = Number(/127\.0\.0\.1:(\d+)/.exec(curl)?.[1]);
  if (!(await isPortFree(port))) throw new Error(`README's request goes to port ${port}, which is taken.`);
  const lines: RecordedLine[] = [];
  const begun = performance.now();
  const add = (pane: PaneName, kind: RecordedLine['kind'], text: string): void => {
    lines.push({ pane, at: performance.now() - begun, text, kind });
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

/** A row of a pane: what it shows, and when, in ms of the playback. A row that is typed has a time for each character. */
interface Row {
  readonly pane: PaneName;
  readonly text: string;
  readonly kind: RecordedLine['kind'];
  readonly at: number;
  readonly first: boolean;
}

/** The rows with their times in the playback: waits shortened, typing added. */
function playback(lines: readonly RecordedLine[]): readonly Row[] {
  let clock = 0;
  let previous = 0;
  return lines.flatMap(({ pane, at, text, kind }) => {
    clock += Math.min(at - previous, maxWaitMs);
    previous = at;
    if (kind === 'output') return [{ pane, text, kind, at: clock, first: false }];
    clock += pauseBeforeTypingMs;
    const rows = text.split('\n').map((part, index): Row => {
      const row = { pane, text: part, kind, at: clock, first: index === 0 };
      clock += (part.length + 1) * msPerKey;
      return row;
    });
    clock += pauseAfterTypingMs;
    return rows;
  });
}

/**
 * The recording as an SVG that moves by CSS alone. It plays once; viewers who prefer reduced motion see the last frame.
 * Throws when it takes longer than `maxRecordingSeconds` or more bytes than `maxRecordingBytes`.
 */
export function terminalSvg(lines: readonly RecordedLine[]): string {
  const rows = playback(lines);
  const seconds =
    Math.max(...rows.map(({ at, text, kind }) => at + (kind === 'command' ? text.length * msPerKey : 0))) / 1000;
  if (seconds > maxRecordingSeconds)
    throw new Error(`The recording takes ${seconds.toFixed(1)} s; it may take ${maxRecordingSeconds}.`);

  const width = Math.ceil(columns * characterWidth + 2 * margin);
  const styles: string[] = [];
  const drawn: string[] = [];
  let top = 0;
  for (const { name, title, rows: visible } of panes) {
    const height = titleHeight + visible * lineHeight + margin;
    const own = rows.filter(({ pane }) => pane === name);
    const scrolled = Math.max(0, own.length - visible);
    styles.push(scrollStyle(name, own, visible, seconds));
    drawn.push(
      `<g transform="translate(0 ${top})">`,
      `<rect class="back" x=".5" y=".5" width="${width - 1}" height="${height - 1}" rx="8"/>`,
      `<text class="dim" x="${margin}" y="19">${title}</text>`,
      `<svg y="${titleHeight}" width="${width}" height="${visible * lineHeight}">`,
      `<g class="${name}" style="transform:translateY(${-scrolled * lineHeight}px)">`,
      ...own.map((row, index) => rowSvg(row, index)),
      '</g></svg></g>',
    );
    top += height + 8;
  }
  const svg = `${[
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${top - 8}" role="img" xml:space="preserve">`,
    '<!-- Written by scripts/record/terminal-recording.ts -->',
    '<title>npm start, and a request in another terminal</title>',
    `<desc>${escaped(
      lines
        .filter(({ kind }) => kind === 'command')
        .map(({ text }) => text)
        .join(' — '),
    )}</desc>`,
    `<style>${[...baseStyles, ...styles].join('')}</style>`,
    ...drawn,
    '</svg>',
  ].join('\n')}\n`;
  const bytes = Buffer.byteLength(svg);
  if (bytes > maxRecordingBytes) throw new Error(`The recording has ${bytes} bytes; it may have ${maxRecordingBytes}.`);
  return svg;
}

// Without animation everything is visible and scrolled to the end: the last frame.
const baseStyles = [
  'text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;white-space:pre;fill:#1f2328}',
  '.back{fill:#f6f8fa;stroke:#d1d9e0}.dim{fill:#59636e}.green{fill:#1a7f37}.blue{fill:#0550ae}',
  '@media(prefers-color-scheme:dark){text{fill:#e6edf3}.back{fill:#151b23;stroke:#3d444d}',
  '.dim{fill:#9198a1}.green{fill:#3fb950}.blue{fill:#79c0ff}}',
  '@keyframes hidden{from,to{visibility:hidden}}.l{animation:hidden 1ms backwards}',
  '@media(prefers-reduced-motion:reduce){*{animation:none!important}}',
];

/**
 * The last frame alone, from the SVG of `terminalSvg`. Browsers that do not apply reduced motion inside an embedded image
 * (Chromium) still choose between two images by it.
 */
export function stillOf(svg: string): string {
  return svg.replace(
    '@media(prefers-reduced-motion:reduce){*{animation:none!important}}',
    '*{animation:none!important}',
  );
}

/** The steps by which a pane scrolls when it is full. Empty if it never is. */
function scrollStyle(name: PaneName, rows: readonly Row[], visible: number, seconds: number): string {
  const steps = new Map<string, number>([['0', 0]]);
  for (const [index, { at }] of rows.entries())
    if (index >= visible) steps.set((at / 10 / seconds).toFixed(2), (index + 1 - visible) * lineHeight);
  if (steps.size === 1) return '';
  const frames = [...steps].map(([percent, distance]) => `${percent}%{transform:translateY(${-distance}px)}`);
  return `@keyframes ${name}{${frames.join('')}}.${name}{animation:${name} ${seconds.toFixed(2)}s step-end}`;
}

function rowSvg({ text, kind, at, first }: Row, index: number): string {
  const place = `x="${margin}" y="${index * lineHeight + 14}"`;
  if (kind === 'output')
    return `<text class="l" ${place} style="animation-delay:${inSeconds(at)}">${coloured(fitted(text))}</text>`;
  const typed = [...text].map(
    (character, position) =>
      `<tspan class="l" style="animation-delay:${inSeconds(at + position * msPerKey)}">${escaped(character)}</tspan>`,
  );
  return `<text ${place}>${first ? '<tspan class="green">$ </tspan>' : ''}${typed.join('')}</text>`;
}

function inSeconds(ms: number): string {
  return `${(ms / 1000).toFixed(2)}s`;
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

if (import.meta.main) {
  const svg = terminalSvg(await record(readFileSync(join(import.meta.dirname, '../../README.md'), 'utf8')));
  writeFileSync(terminalFile, svg);
  writeFileSync(terminalStillFile, stillOf(svg));
  console.log(`${terminalFile}: ${Buffer.byteLength(svg)} bytes`);
}
