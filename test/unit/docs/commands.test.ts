import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parseBenchArguments } from '../../../bench/arguments.ts';
import { settingsIn } from '../../../src/service/settings/setting.ts';
import { settings } from '../../../src/service/settings/settings-table.ts';
import { helpText as doctorHelp } from '../../../src/tools/doctor/doctor-options.ts';
import { helpText as explainHelp } from '../../../src/tools/explain/help.ts';
import { usage } from '../../../tools/mesh/options.ts';

const root = join(import.meta.dirname, '../../..');
const pages = ['README.md', 'CONTRIBUTING.md', 'envoy/README.md', ...globSync('docs/**/*.md', { cwd: root }).sort()];
const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: Record<string, string> };
const read = (page: string) => readFileSync(join(root, page), 'utf8');

/** Whole commands, from blocks and from code in a line; the first word of each is where the expression begins. */
function commandsIn(page: string, expression: RegExp): readonly RegExpExecArray[] {
  const text = read(page).replaceAll(/\\\n\s*/g, ' ');
  return [...text.matchAll(new RegExp(`(?<![\\w/-])${expression.source}`, 'g'))];
}

const helps: Readonly<Record<string, string>> = {
  start: usage,
  'run explain': explainHelp,
  'run doctor': doctorHelp,
};

test.each(pages)('the commands of %s are there: npm scripts, their options, programs and compose files', (page) => {
  const isFile = (path: string) => existsSync(join(root, path));
  const faults = [
    ...commandsIn(page, /npm run (?:-s |--silent )?([a-z:-]+)/).filter(([, script = '']) => !(script in scripts)),
    ...commandsIn(page, /npm (start|run explain|run doctor) -- ([^`\n]*)/).filter(([, script = '', rest = '']) =>
      [...rest.matchAll(/(?<= )--[a-z-]+/g)].some(([option]) => helps[script]?.includes(option) !== true),
    ),
    ...commandsIn(page, /node (?:--[\w=-]+ )*((?:bench|scripts|src|test|docs)\/[\w./-]+)/).filter(
      ([, file = '']) => !isFile(file),
    ),
    ...commandsIn(page, /npm run bench -- ([^`#)\n]*)/).filter(([, given = '']) => !benchTakes(given)),
    ...commandsIn(page, /docker compose(?: -f \S+)* -f (\S+)/).filter(([, file = '']) => !isFile(file)),
  ];
  expect(faults.map(([command]) => command)).toEqual([]);
});

/** Whether the bench takes these options, and has these parts. */
function benchTakes(given: string): boolean {
  try {
    return parseBenchArguments(given.trim().split(/\s+/)) !== null;
  } catch {
    return false;
  }
}

test.each(pages)('the files that %s names are there', (page) => {
  const named = [...read(page).matchAll(/`((?:src|test|bench|scripts|tools|deploy|envoy|docs|proto)\/[\w./-]+)`/g)];
  const isThere = (path: string) => [root, join(root, 'docs')].some((folder) => existsSync(join(folder, path)));
  // A name in capitals stands for one that the reader chooses.
  expect(named.map(([, path = '']) => path).filter((path) => !/[A-Z]{4}\./.test(path) && !isThere(path))).toEqual([]);
});

/** Variables of others: Node, the C library, the image, the mesh, bench and tests, and agentic-api. */
const others =
  /^(NODE_|MALLOC_|UPSTREAM_(KEY|API_KEY)$|ENVOY_BIN$|LOG_FORMAT$|FAST_CHECK_|RECORD$|OPENAI_|OIDC_|DATABASE_URL$|[A-Z]+_IMAGE$|(REVISION|SOURCE)$|EXTPROC_PORT$)/;

test.each(pages)('the variables that commands of %s set are those of the service', (page) => {
  const known = new Set(settingsIn(settings).map(({ variable }) => variable));
  const blocks = [...read(page).matchAll(/^```(?:sh|console)\n(.*?)^```/gms)].map(([, block = '']) => block);
  const names = blocks.flatMap((block) => [...block.matchAll(/(?<![\w.$-])([A-Z][A-Z_]{3,})=/g)]);
  expect(names.map(([, name = '']) => name).filter((name) => !known.has(name) && !others.test(name))).toEqual([]);
});
