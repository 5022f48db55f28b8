/**
 * `npm run freeze` writes docs/public-names.json: the names and defaults that docs/compatibility.md promises. It refuses to lose or
 * change one that docs/upgrading.md does not speak of. What only a running service shows is kept as it is: the keys of a log line, which
 * test/grpc/log.test.ts compares, of `explain --json`, test/grpc/explain.test.ts, and of the metadata for Envoy,
 * test/unit/filter/exchange/usage-metadata.test.ts.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { profileFlags } from '../../src/filter/index.ts';
import { jsonWithPatterns } from '../../src/formats/json/loose.ts';
import { describeConfig } from '../../src/program/check-config.ts';
import { helpText } from '../../src/program/command-line.ts';
import { openProfiles } from '../../src/service/server/profile-source.ts';
import { readConfig } from '../../src/service/settings/config.ts';
import { settingsIn } from '../../src/service/settings/setting.ts';
import { settings } from '../../src/service/settings/settings-table.ts';
import {
  type MetricRow,
  metricRows,
  readType,
  stateRows,
  supervisorRows,
  webSocketRows,
} from '../../src/service/telemetry/metric-rows.ts';
import { helpText as doctorHelp } from '../../src/tools/doctor/doctor-options.ts';
import { helpText as explainHelp } from '../../src/tools/explain/explain-command.ts';

const root = join(import.meta.dirname, '../..');
export const frozenFile = join(root, 'docs/public-names.json');

/** A section of the file: names, each with what is promised of it in one line (a default, a type, labels). */
export type PublicNames = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** What the sources say today, without what only a running service shows. */
export function namesInSources(): PublicNames {
  const config = readConfig({});
  const profiles = openProfiles(config);
  profiles.close();
  return {
    settings: Object.fromEntries(
      settingsIn(settings).map(({ variable, fallback, form }) => [variable, `${fallback || '(unset)'}; ${form.takes}`]),
    ),
    metrics: Object.fromEntries(
      [metricRows, stateRows, webSocketRows, supervisorRows]
        .flatMap((rows) => Object.values<MetricRow>(rows))
        .map((row) => [row.name, [readType(row), ...(row.labels ?? [])].join(' ')]),
    ),
    flags: Object.fromEntries(Object.entries(profileFlags).map(([name, { usual }]) => [name, jsonWithPatterns(usual)])),
    chart: Object.fromEntries(leaves(parse(readFileSync(join(root, 'deploy/chart/values.yaml'), 'utf8')))),
    config: Object.fromEntries(
      Object.entries(describeConfig(config, profiles)).map(([name, value]) => [name, kindOf(value)]),
    ),
    commands: Object.fromEntries(Object.entries(helpTexts()).map(([name, text]) => [name, promisedBy(text)])),
  };
}

function kindOf(value: unknown): string {
  if (value === null) return 'null where it is unset';
  return Array.isArray(value) ? 'list' : typeof value;
}

/** What each command prints for `--help`; `envoy` is Envoy's own. */
function helpTexts(): Readonly<Record<string, string>> {
  return {
    'responses-extproc': helpText(),
    'responses-extproc explain': explainHelp,
    'responses-extproc doctor': doctorHelp,
    'responses-extproc try': readFileSync(join(root, 'mesh/usage.txt'), 'utf8'),
  };
}

/** The options that a help text lists, and the exit codes. */
function promisedBy(help: string): string {
  const options = [...help.matchAll(/^ +(?:-\w, +)?(--[\w-]+)/gm)].map(([, option]) => option);
  const [, codes = ''] = help.split(/^Exit codes:/m);
  return `${options.join(' ')}; exits ${[...codes.matchAll(/^ +(\d) {2}/gm)].map(([, code]) => code).join(' ')}`;
}

/** Paths of values and their defaults. An empty object or a list is one value. */
function leaves(value: unknown, path = ''): [path: string, value: string][] {
  const isBranch =
    value !== null && typeof value === 'object' && !Array.isArray(value) && Object.keys(value).length > 0;
  if (!isBranch) return [[path, JSON.stringify(value)]];
  return Object.entries(value).flatMap(([name, one]) => leaves(one, path === '' ? name : `${path}.${name}`));
}

/** Sentences about what a person relies on and would lose; new names are not among them. */
export function broken(frozen: PublicNames, current: PublicNames): string[] {
  return Object.entries(frozen).flatMap(([section, names]) =>
    Object.entries(names).flatMap(([name, promised]) => {
      const found = current[section]?.[name];
      if (found === promised) return [];
      const change = found === undefined ? 'is gone' : `was “${promised}” and is “${found}”`;
      return [
        `${section}: ${name} ${change}. If it is meant: keep the old name working (docs/compatibility.md), say it in CHANGELOG.md and, with its name, in docs/upgrading.md; then run npm run freeze.`,
      ];
    }),
  );
}

/** The sentences of `broken` whose name is missing in docs/upgrading.md, or in what CHANGELOG.md says of its newest version. */
export function unannounced(
  frozen: PublicNames,
  current: PublicNames,
  read = (path: string) => readFileSync(join(root, path), 'utf8'),
): string[] {
  const [, newest = ''] = read('CHANGELOG.md').split(/^## /m);
  const texts = [newest, read('docs/upgrading.md')];
  return broken(frozen, current).filter((sentence) => {
    const name = /^\w+: (.+?) (?:is gone|was “)/.exec(sentence)?.[1] ?? '';
    return !texts.every((text) => text.includes(`\`${name}\``));
  });
}

export function readFrozen(): PublicNames {
  return JSON.parse(readFileSync(frozenFile, 'utf8')) as PublicNames;
}

if (import.meta.main) {
  const frozen = readFrozen();
  const next = { ...frozen, ...namesInSources() };
  const lost = unannounced(frozen, next);
  for (const sentence of lost) console.error(sentence);
  if (lost.length > 0) process.exit(1);
  writeFileSync(frozenFile, `${JSON.stringify(next, null, 2)}\n`);
}
