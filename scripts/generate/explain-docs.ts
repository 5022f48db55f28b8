/** The examples of `explain` in the docs with their output: each command in a `console` block is run, and its output put below it. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Generator, textOf } from './generator.ts';

const root = join(import.meta.dirname, '../..');

const pages = ['docs/explain.md', 'docs/guides/my-agent-fails.md'];

export const explainExamples: Generator = {
  name: 'examples of explain',
  source: 'src/tools/explain',
  files: () => Object.fromEntries(pages.map((page) => [page, withExamples(textOf(page))])),
};

/** The page with the current output of its commands. Throws if there is no command. */
function withExamples(page: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'responses-extproc-explain-docs-'));
  try {
    const written = page.replaceAll(
      /```console\n\$ (.*?\n)(?:POST \/v1.*?|The answer.*?)?```/gs,
      (_block, command: string) => `\`\`\`console\n$ ${command}${outputOf(command, folder)}\`\`\``,
    );
    if (!written.includes('```console\n$ ')) throw new Error('There is no command.');
    return written;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function outputOf(command: string, cwd: string): string {
  const name = `responses-extproc() { '${process.execPath}' '${join(root, 'src/main.ts')}' "$@"; }`;
  const { PATH = '', NODE_COMPILE_CACHE = '' } = process.env;
  const { stdout, stderr } = spawnSync('bash', ['--norc', '-c', `${name}\n${command}`], {
    cwd,
    env: { PATH, NODE_COMPILE_CACHE },
    encoding: 'utf8',
  });
  if (stderr !== '') throw new Error(stderr);
  return stdout;
}
