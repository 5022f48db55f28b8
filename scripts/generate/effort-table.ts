/**
 * `node scripts/generate/effort-table.ts`: asks the newest npm package `@earendil-works/pi-ai` (MIT), whose tables of models are made from
 * models.dev (MIT), which reasoning efforts each model takes, and writes `src/filter/upstream/servers/effort-table.ts`. Needs
 * npm's registry, so it is not part of `npm run generate`.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const source = '@earendil-works/pi-ai';

/** Profile → the package's name for the same API. */
export const providers = {
  cerebras: 'cerebras',
  deepseek: 'deepseek',
  fireworks: 'fireworks',
  gemini: 'google',
  groq: 'groq',
  mistral: 'mistral',
  moonshot: 'moonshotai',
  vertex: 'google-vertex',
  xai: 'xai',
  zai: 'zai',
} as const;

const levels = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const;

/** A model of the package: `thinkingLevelMap` has the API's word for each level, null for one that it refuses. */
export interface ListedModel {
  readonly id: string;
  readonly thinkingLevelMap?: Readonly<Record<string, string | null>>;
}

/** What is sent to a model for each effort that it does not accept. */
export type Replacements = Readonly<Record<string, string>>;

/**
 * For an effort that the model refuses: the next higher one that it accepts, or its highest. Levels that the map leaves
 * out are accepted, except for the two above high.
 */
export function replacementsOf(map: Readonly<Record<string, string | null>>): Replacements {
  const words = levels.map((level) => {
    const given = map[level === 'none' ? 'off' : level];
    if (given !== undefined) return level === 'none' && given !== null ? 'none' : given;
    return level === 'xhigh' || level === 'max' ? null : level;
  });
  const taken = (word: string | null): word is string => word !== null;
  const replaced: Record<string, string> = {};
  for (const [rank, level] of levels.entries()) {
    // Reasoning that cannot be turned off is kept low; a request for some effort never turns it off.
    const word = words.slice(rank).find(taken) ?? words.findLast(taken);
    if (word !== undefined && word !== level) replaced[level] = word;
  }
  return replaced;
}

/** Rules for a list of models: the names of those with the same replacements, as `modelsNamed` reads them. */
export function rulesOf(models: readonly ListedModel[]): { readonly models: string; readonly efforts: Replacements }[] {
  const known = new Map<string, string>();
  for (const { id, thinkingLevelMap: map } of models) {
    // Words of another API of the same vendor.
    const isForeign = Object.values(map ?? {}).some((word) => word !== null && word !== word.toLowerCase());
    const name = id.split('/').at(-1)?.toLowerCase() ?? '';
    known.set(name, map === undefined || isForeign ? '' : JSON.stringify(replacementsOf(map)));
  }
  const groups = new Map<string, string[]>();
  for (const [name, efforts] of known) {
    if (efforts === '' || efforts === '{}') continue;
    // A dated or faster variant is like its model, unless the list has one that differs.
    const hasOthers = [...known].some(([other, given]) => isVariant(other, name) && given !== efforts);
    groups.set(efforts, [...(groups.get(efforts) ?? []), hasOthers ? `${name}$` : name]);
  }
  return Array.from(groups, ([efforts, names]) => {
    const shortest = names.filter((name) => !names.some((other) => isVariant(name, other)));
    return { models: shortest.toSorted().join(' '), efforts: JSON.parse(efforts) as Replacements };
  });
}

function isVariant(name: string, of: string): boolean {
  return name.startsWith(of) && /^[-:@]/.test(name.slice(of.length));
}

function tableFrom(folder: string): string {
  const read = (path: string) => JSON.parse(readFileSync(join(folder, 'package', path), 'utf8'));
  const { version } = read('package.json');
  const { generatedAt } = read('dist/providers/data/.manifest.json');
  const rows = Object.entries(providers).map(([profile, provider]) => {
    const byApi = Object.values(read(`dist/providers/data/${provider}.json`)) as Record<string, ListedModel>[];
    const models = byApi.filter((entry) => typeof entry === 'object').flatMap((entry) => Object.values(entry));
    const rules = rulesOf(models);
    if (rules.length === 0) throw new Error(`${provider}: no model has a table of efforts; has the package changed?`);
    return `  ${profile}: [${rules.map(({ models: names, efforts }) => `['${names}', ${JSON.stringify(efforts)}]`).join(',\n')}],\n`;
  });
  return `type TableRow = readonly [models: string, efforts: Readonly<Record<string, string>>];

/**
 * Written by \`node scripts/generate/effort-table.ts\` from ${source} ${version} (MIT), whose data are models.dev's (MIT) of
 * ${generatedAt.slice(0, 10)}: by profile, names of models, and what these are sent in place of reasoning efforts that they refuse.
 */
export const effortTable = {
${rows.join('')}} as const satisfies Readonly<Record<string, readonly TableRow[]>>;
`;
}

if (import.meta.main) {
  const root = join(import.meta.dirname, '../..');
  const folder = mkdtempSync(join(tmpdir(), 'effort-table-'));
  try {
    const packed = execFileSync('npm', ['pack', '--silent', `${source}@latest`], { cwd: folder, encoding: 'utf8' });
    execFileSync('tar', ['xzf', packed.trim().split('\n').at(-1) ?? ''], { cwd: folder });
    const file = join(root, 'src/filter/upstream/servers/effort-table.ts');
    writeFileSync(file, tableFrom(folder));
    execFileSync(join(root, 'node_modules/.bin/biome'), ['format', '--write', file], { stdio: 'inherit' });
    console.log(`written: ${file}`);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
