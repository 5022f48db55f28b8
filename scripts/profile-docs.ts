/** What the profiles are: the tables of `docs/upstreams.md` and `docs/upstreams-reference.md`, and the JSON schema that editors use for `UPSTREAM_PROFILES_FILE`. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { BuiltInProfile } from '../src/filter/upstream/built-in-profile.ts';
import { templateRules } from '../src/filter/upstream/chat-templates.ts';
import { flagJson } from '../src/filter/upstream/flag-json.ts';
import { type FlagName, type ModelRule, profileFlags, unprobed } from '../src/filter/upstream/profile.ts';
import { builtInProfiles } from '../src/filter/upstream/profiles.ts';
import { profilesFileJsonSchema, takenBy } from '../src/filter/upstream/profiles-file.ts';
import { effortTable } from '../src/filter/upstream/servers/effort-table.ts';
import { type Generator, withSection } from './generator.ts';

export const profileDocs: Generator = {
  name: 'profiles',
  source: 'src/filter/upstream',
  files: () => {
    const read = (name: string) => readFileSync(join(import.meta.dirname, '../docs', name), 'utf8');
    const sections = [...builtInProfiles.map(sectionOf), templateList(), flagTable()].join('\n\n');
    return {
      'docs/upstreams.md': withSection(read('upstreams.md'), 'choice', choiceTable()),
      'docs/upstreams-reference.md': withSection(read('upstreams-reference.md'), 'profiles', sections),
      'docs/upstream-profiles.schema.json': `${JSON.stringify(profilesFileJsonSchema(), null, 2)}\n`,
    };
  },
};

/** One line for each profile: what it is for, and its place in the reference. */
function choiceTable(): string {
  const rows = builtInProfiles.map(({ profile: { name }, about }) => {
    const [what = ''] = about.split(/(?<=[.:]) /);
    return `| ${cell(what.replace(/[.:]$/, ''))} | [\`${name}\`](upstreams-reference.md#${name.replaceAll('.', '')}) |`;
  });
  return `| Your server | Profile |\n| --- | --- |\n${rows.join('\n')}`;
}

function sectionOf(row: BuiltInProfile): string {
  const { profile, base, about, reasons } = row;
  const heading = `## ${profile.name}\n\n${about}\n\n${namesOf(row)}`;
  const rules = profile.models.length === ownRulesOf(profile).length ? '' : `\n\n${templateNote}`;
  const flags = Object.keys(profileFlags).filter((flag): flag is FlagName => flag in reasons);
  const rows = flags.map((flag) => `| \`${flag}\` | ${code(profile[flag])} | ${cell(reasons[flag] ?? '')} |`);
  const ofModels = ownRulesOf(profile)
    .filter((rule) => base?.base == null || !base.profile.models.includes(rule))
    .flatMap(({ match, flags: some, reason = '' }) =>
      Object.entries(some).map(
        ([flag, value]) => `| \`${flag}\` for models ${code(match)} | ${code(value)} | ${cell(reason)} |`,
      ),
    );
  const table = [...rows, ...ofModels];
  const as = base?.base == null ? '' : `\n\nAs \`${base.profile.name}\`, but:`;
  return `${heading}${rules}${as}\n\n| Flag | Value | Why |\n| --- | --- | --- |\n${table.join('\n')}`;
}

/** How `doctor` recognises the server, and its name in telemetry. */
function namesOf({ profile, recognisedBy, otelName }: BuiltInProfile): string {
  const name = typeof otelName === 'string' ? otelName : profile.name;
  return `${recognition(recognisedBy)} \`gen_ai.provider.name\`: \`${name}\`.`;
}

function recognition(by: BuiltInProfile['recognisedBy']): string {
  if ('not' in by) return `Not recognised by \`doctor\`: ${by.not}`;
  if ('hosts' in by) return `Recognised by its host: ${by.hosts.map((host) => `\`${host}\``).join(', ')}.`;
  const { ownedBy, path } = by.engine;
  const signs = [
    ...(ownedBy === null ? [] : [`the owner \`${ownedBy}\` in \`/v1/models\``]),
    ...(path === null ? [] : [`what it answers at \`${path}\``]),
  ];
  return `Recognised by ${signs.join(' and ')}.`;
}

const templateNote = 'With the rules for [chat templates](#chat-templates).';

function ownRulesOf({ models }: BuiltInProfile['profile']): readonly ModelRule[] {
  return models.filter((rule) => !templateRules.includes(rule));
}

function templateList(): string {
  const rows = templateRules.map(({ match, flags, reason = '' }) => {
    const set = Object.entries(flags).map(([flag, value]) => `\`${flag}\` ${code(value)}`);
    return `- \`${match}\`: ${set.join(', ')}. ${reason}`;
  });
  const about =
    'What the template of a model refuses belongs to the model, so the profiles of servers that run it have these rules, by the model’s name. The tests put every golden request, and random conversations, through the checks of these templates and of those that need no rule.';
  return `## Chat templates\n\n${about}\n\n${rows.join('\n')}`;
}

function flagTable(): string {
  const generic = builtInProfiles[0]?.profile;
  const rows = (Object.keys(profileFlags) as FlagName[]).map((flag) => {
    const meaning = profileFlags[flag].description ?? '';
    const usual = generic === undefined ? '' : `; ${code(generic[flag])} in \`generic\``;
    return `| \`${flag}\` | ${cell(takenBy(flag))}${usual} | ${cell(meaning)}${notProbed(flag)} _For ${neededBy(flag)}._ |`;
  });
  const about =
    '[`doctor`](doctor.md#probes) has the probes that say what a server does; a flag that none can show says why.';
  return `## Flags\n\n${about}\n\n| Flag | Takes | Meaning |\n| --- | --- | --- |\n${rows.join('\n')}`;
}

/** Who sets the flags that no built-in profile does. */
const ofOperators: { readonly [Name in FlagName]?: string } = {
  guardrails: 'operators of LiteLLM or NeMo Guardrails',
  image: 'operators of models that take text alone',
  phase: 'operators whose server knows `phase`',
  implicitThink: 'operators whose chat template opens the reasoning',
  contextOverflow: 'operators whose server words it in its own way',
  passExtensions: 'operators whose clients know extensions of the server',
};

/** Who sets the flag to another value than `generic`. Throws where nobody does. */
function neededBy(flag: FlagName): string {
  const [generic, ...others] = builtInProfiles.map(({ profile }) => profile);
  const names = others.filter((profile) => code(profile[flag]) !== code(generic?.[flag])).map(({ name }) => name);
  const isIn = (rules: readonly ModelRule[]) => rules.some(({ flags }) => flag in flags);
  const ofModels = others.filter((profile) => isIn(ownRulesOf(profile))).map(({ name }) => `models of ${name}`);
  const needs = [...names, ...ofModels, ...(isIn(templateRules) ? ['chat templates'] : [])];
  const operators = ofOperators[flag];
  if ((operators === undefined) === (needs.length === 0))
    throw new Error(
      `${flag}: is set by a built-in profile, or by operators whom scripts/profile-docs.ts names, or removed.`,
    );
  return operators ?? `${needs.slice(0, 4).join(', ')}${needs.length > 4 ? ` and ${needs.length - 4} more` : ''}`;
}

/** Why no request can show it; empty for a flag that `doctor` probes. */
function notProbed(flag: FlagName): string {
  const reason = unprobed.get(profileFlags[flag])?.because;
  return reason === undefined ? '' : ` Not probed. ${cell(reason)}`;
}

function code(value: unknown): string {
  const tabled = Array.isArray(value) ? value.filter((rule) => tabledRules.has(rule)) : [];
  const own = Array.isArray(value) && tabled.length > 0 ? value.filter((rule) => !tabledRules.has(rule)) : value;
  const text = value instanceof RegExp ? String(value) : spaced(own);
  const others =
    tabled.length === 0 ? '' : `[${tabled.length} rules](../src/filter/upstream/servers/effort-table.ts) and `;
  return `${others}\`${cell(text)}\``;
}

/** JSON that can break between its parts, so that a table fits its column. */
function spaced(value: unknown): string {
  return (flagJson(value, 1) ?? 'undefined').replace(/\n\s*/g, ' ').replace(/([[{]) | (?=[\]}])/g, '$1');
}

/** Too long for a cell. */
const tabledRules: ReadonlySet<unknown> = new Set(Object.values(effortTable).flat());

function cell(text: string): string {
  return text.replaceAll('|', '\\|');
}
