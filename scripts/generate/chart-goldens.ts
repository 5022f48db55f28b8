/**
 * The golden manifests of the chart, `test/golden/chart`: what Helm makes of each values file of `deploy/chart/examples`, of
 * `test/chart/values` and, where it is not refused, of `test/chart/habits`, and of each `helm install` in the docs.
 */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { commandsIn, startedBy } from '../../test/support/doc-commands.ts';
import type { Generator } from './generator.ts';
import { helmIsMissing, manifestFolders, renderInstall } from './kubernetes-render.ts';

const root = join(import.meta.dirname, '../..');
const folder = 'test/golden/chart';
const plain = ['envoy/service.yaml', ...Object.keys(manifestFolders).map((name) => `${name}/gateway.yaml`)];

/** Names of golden manifests → Helm's arguments, with paths from the root. */
export function chartCases(): ReadonlyMap<string, readonly string[]> {
  return new Map([
    ...valuesIn('deploy/chart/examples', 'example-'),
    ...valuesIn('test/chart/values', ''),
    ...habits().flatMap(({ name, args, refusal }) => (refusal === null ? [[`habit-${name}`, args] as const] : [])),
    ...['docs', 'envoy'].flatMap(installsIn),
  ]);
}

/** Values as people write them who know other charts; the second line of a file says what is refused, if it is. */
export function habits(): readonly { name: string; args: readonly string[]; refusal: string | null }[] {
  return valuesIn('test/chart/habits', '').map(([name, args]) => {
    const text = readFileSync(join(root, args.at(-1) ?? ''), 'utf8');
    return { name, args, refusal: /^# Refused: (.*)$/m.exec(text)?.[1] ?? null };
  });
}

function valuesIn(from: string, prefix: string): [name: string, args: readonly string[]][] {
  const names = existsSync(join(root, from)) ? readdirSync(join(root, from)) : [];
  return names
    .filter((name) => name.endsWith('.yaml'))
    .map((name) => [`${prefix}${name.replace('.yaml', '')}`, ['--values', `${from}/${name}`]]);
}

/** The `helm install` commands of the pages in a folder, numbered on each page. */
function installsIn(from: string): [name: string, args: readonly string[]][] {
  const pages = readdirSync(join(root, from)).filter((name) => name.endsWith('.md'));
  return pages.flatMap((page) => {
    const installs = startedBy(commandsIn(readFileSync(join(root, from, page), 'utf8'))).filter(
      ({ program, args }) => program === 'helm' && args[0] === 'install' && args.includes('deploy/chart'),
    );
    return installs.map(({ args }, index): [string, readonly string[]] => [
      `${from}-${page.replace('.md', '')}-${index + 1}`,
      args.slice(2).filter((word) => !['deploy/chart', '--create-namespace'].includes(word)),
    ]);
  });
}

export const chartGoldens: Generator = {
  name: 'golden manifests',
  source: 'deploy/chart',
  folder,
  missing: helmIsMissing,
  files: () => {
    const known = plain.map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }));
    return Object.fromEntries(
      [...chartCases()].map(([name, args]) => [`${folder}/${name}.yaml`, goldenOf(args, known)]),
    );
  },
};

/** What Helm makes of it. An object that stands in the plain manifests too is a line, and what is very long its checksum. */
function goldenOf(args: readonly string[], known: readonly { path: string; text: string }[]): string {
  const same = new Map<string, string[]>(known.map(({ path }) => [path, []]));
  const others: string[] = [];
  const { documents, notes } = renderInstall(args);
  for (const { text } of documents) {
    const where = known.find((one) => `${one.text}---\n`.includes(`---\n${text}---\n`));
    if (where === undefined) others.push(text);
    else same.get(where.path)?.push(`${/^kind: (\S+)/m.exec(text)?.[1]} ${/^ {2}name: (\S+)/m.exec(text)?.[1]}`);
  }
  const lines = [...same].flatMap(([path, names]) =>
    names.length === 0 ? [] : [`# As in ${path}:\n${names.map((name) => `# - ${name}\n`).join('')}`],
  );
  const head = `# Rendered from deploy/chart with ${args.join(' ')}: npm run generate\n`;
  const said = `---\n# NOTES\n${notes.trimEnd().replaceAll(/^/gm, '# ').replaceAll(/ +$/gm, '')}\n`;
  return [head, ...lines, ...others.map((text) => `---\n${withoutLongBlocks(text)}`), said].join('');
}

/** A block of text in YAML with more lines than a reader would read, such as a dashboard, as its checksum. */
function withoutLongBlocks(text: string): string {
  return text.replaceAll(/(?<=^( *)\S+: \|-?\n)(?:\1 .*\n){200,}/gm, (block, indent: string) => {
    const checksum = createHash('sha256').update(block).digest('hex').slice(0, 16);
    return `${indent}  … ${block.split('\n').length - 1} lines, ${checksum}\n`;
  });
}
