/**
 * `npm run generate` writes every file, and every section of a file, that is made from the sources. `npm run generate --
 * --check` writes nothing, names the files that are stale and fails if there are any, as `npm test` does.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { lastRunsTable } from '../tests/suites.ts';
import { benchTables } from './bench-tables.ts';
import { chartGoldens } from './chart-goldens.ts';
import { chartValues } from './chart-values.ts';
import { configTables } from './config-table.ts';
import { envoyRecipes } from './envoy-recipes.ts';
import { explainExamples } from './explain-docs.ts';
import type { Generator } from './generator.ts';
import { chartCopies, chartFiles, chartSchema, manifests } from './kubernetes-render.ts';
import { mappingRows } from './mapping-rows.ts';
import { metricTable } from './metric-table.ts';
import { profileDocs } from './profile-docs.ts';
import { publication } from './publication.ts';
import { requirementsPage } from './requirements.ts';
import { stateDiagrams } from './state-diagram.ts';
import { wireNumbers } from './wire-numbers.ts';
import { wireTypes } from './wire-types.ts';

const root = join(import.meta.dirname, '../..');

/** In the order in which they run: the examples of `explain` quote the rows of the mapping. */
export const generators: readonly Generator[] = [
  wireTypes,
  wireNumbers,
  configTables,
  metricTable,
  benchTables,
  profileDocs,
  stateDiagrams,
  mappingRows,
  explainExamples,
  requirementsPage,
  chartSchema,
  chartFiles,
  chartCopies,
  chartValues,
  envoyRecipes,
  manifests,
  chartGoldens,
  lastRunsTable,
  publication,
];

/** The stale files of a generator, with the text they should have; null for one that should not exist. */
export function staleFiles(generator: Generator): ReadonlyMap<string, string | null> {
  const files = new Map<string, string | null>(Object.entries(generator.files()));
  if (files.size === 0) throw new Error(`${generator.name}: made nothing.`);
  for (const path of filesIn(generator.folder ?? null)) if (!files.has(path)) files.set(path, null);
  return new Map([...files].filter(([path, text]) => textOf(path) !== text));
}

/** Paths from the root. */
function filesIn(folder: string | null): string[] {
  if (folder === null) return [];
  const entries = readdirSync(join(root, folder), { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => relative(root, join(parentPath, name)).replaceAll(sep, '/'));
}

function textOf(path: string): string | null {
  const file = join(root, path);
  return existsSync(file) ? readFileSync(file, 'utf8') : null;
}

if (import.meta.main) {
  const [option, ...more] = process.argv.slice(2);
  if (more.length > 0 || (option !== undefined && option !== '--check')) {
    console.error('Usage: npm run generate [-- --check]');
    process.exit(2);
  }
  let stale = 0;
  for (const generator of generators) {
    const missing = generator.missing?.() ?? null;
    if (missing !== null) {
      console.log(`left out: ${generator.name}: ${missing}`);
      continue;
    }
    let made: ReturnType<typeof staleFiles>;
    try {
      made = staleFiles(generator);
    } catch (error) {
      console.error(`${generator.name}: ${error instanceof Error ? error.message : String(error)}`);
      process.exit(1);
    }
    for (const [path, text] of made) {
      stale += 1;
      console.log(`${option === '--check' ? 'stale' : 'written'}: ${path}, from ${generator.source}`);
      if (option === '--check') continue;
      const file = join(root, path);
      mkdirSync(dirname(file), { recursive: true });
      if (text === null) rmSync(file);
      else writeFileSync(file, text);
    }
  }
  if (stale === 0) console.log('Everything generated is as the sources have it.');
  else if (option === '--check') {
    console.log('Run `npm run generate`.');
    process.exitCode = 1;
  }
}
