import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findFreePort } from '../../mesh/ports.ts';

/** A program that a page starts, as a shell would start it. */
export interface Started {
  readonly program: string;
  readonly args: readonly string[];
  /** The variables that the command sets for it. */
  readonly environment: Readonly<Record<string, string>>;
}

/** Programs of which a span of code in a line is a command, where anything follows the name. */
const programs =
  'npm node vitest docker helm kubectl istioctl egctl git pip curl sudo cosign gcloud agentic-server responses-extproc'.split(
    ' ',
  );
const isCommand = new RegExp(`^(?:[A-Z_]+=\\S* )*(?:${programs.join('|')}) |^npm$`);

/** The commands of a page: its `sh` blocks, blocks that are indented, and code in lines that begins with a program. */
export function commandsIn(page: string): readonly string[] {
  const blocks = [...page.matchAll(/^```sh\n(.*?)^```/gms)].map(([, block = '']) => block);
  const prose = page.replaceAll(/^(`{3,4}).*?^\1$/gms, '');
  const indented = [...prose.matchAll(/(?<=\n\n)(?: {4}\S.*\n)+/g)].map(([block]) => block.replaceAll(/^ {4}/gm, ''));
  const spans = [...prose.matchAll(/`([^`]+)`/g)].map(([, span = '']) => span.replaceAll(/\s+/g, ' '));
  const begin = (text: string) => isCommand.test(text);
  return [...blocks, ...indented.filter(begin), ...spans.filter(begin)];
}

/** Stands for every program; it tells on descriptor 3 how it was called, each word ended by a NUL. */
const prelude = `
command_not_found_handle() {
  printf '+\\0%s\\0' "$1" >&3
  shift
  for word in "$@"; do printf ' %s\\0' "$word" >&3; done
  for name in $(compgen -e); do printf '=%s=%s\\0' "$name" "\${!name}" >&3; done
}
for file in $FILES; do eval "$file() { command_not_found_handle $file "\\$@"; }"; done
unset FILES
for command in "$@"; do ( eval "$command" ); done`;

/**
 * What a shell starts for the commands: each is run by bash, with its quotes, variables, pipes and conditions, where no program
 * but the one above is found. Throws for one that bash cannot read.
 */
export function startedBy(commands: readonly string[]): readonly Started[] {
  const files = commands.flatMap((command) => command.match(/(?<=^|\s)(?:scripts|bench)\/[\w./-]+\.sh/gm) ?? []);
  const folder = mkdtempSync(join(tmpdir(), 'responses-extproc-commands-'));
  try {
    const { stderr, output } = spawnSync('/bin/bash', ['--norc', '-c', prelude, 'bash', ...commands], {
      cwd: folder,
      env: { PATH: '/nowhere', FILES: files.join(' ') },
      encoding: 'utf8',
      stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
    });
    if (stderr !== '') throw new Error(stderr);
    return startedIn((output[3] ?? '').split('\0').slice(0, -1));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Bash's own. */
const variablesOfBash = ['PATH', 'PWD', 'OLDPWD', 'SHLVL', '_'];

function startedIn(words: readonly string[]): readonly Started[] {
  const started: { program: string; args: string[]; environment: Record<string, string> }[] = [];
  for (const word of words) {
    const last = started.at(-1);
    if (word === '+') started.push({ program: '', args: [], environment: {} });
    else if (last?.program === '') last.program = word;
    else if (word.startsWith(' ')) last?.args.push(word.slice(1));
    else {
      const [, name = '', value = ''] = /^=(\w+)=(.*)$/s.exec(word) ?? [];
      if (last !== undefined && !variablesOfBash.includes(name)) last.environment[name] = value;
    }
  }
  return started;
}

/** Stand-ins for the ports that a page names, so that it can be followed beside other tests. */
export interface OwnPorts {
  /** The text with each named port, as a whole number, replaced by its stand-in. */
  put(text: string): string;
  /** The stand-in for a port that was named. */
  of(port: string): number;
}

/** A free port for each that is named, or the one that is given with it. */
export async function ownPorts(...named: readonly (string | readonly [string, number])[]): Promise<OwnPorts> {
  const own = new Map<string, number>();
  for (const port of named)
    if (typeof port === 'string') own.set(port, await findFreePort());
    else own.set(...port);
  const whole = new RegExp(`\\b(?:${[...own.keys()].join('|')})\\b`, 'g');
  return { put: (text) => text.replace(whole, (port) => `${own.get(port)}`), of: (port) => own.get(port) ?? 0 };
}
