/** What the profiles are: the tables of `docs/upstreams.md` and `docs/upstreams-reference.md`, and the JSON schema that editors use for `UPSTREAM_PROFILES_FILE`. */
import type { BuiltInProfile } from '../src/filter/upstream/built-in-profile.ts';
import { templateRules } from '../src/filter/upstream/chat-templates.ts';
import { flagJson } from '../src/filter/upstream/flag-json.ts';
import { type FlagName, type ModelRule, profileFlags, unprobed } from '../src/filter/upstream/profile.ts';
import { builtInProfiles } from '../src/filter/upstream/profiles.ts';
import { profilesFileJsonSchema, takenBy } from '../src/filter/upstream/profiles-file.ts';
import { effortTable } from '../src/filter/upstream/servers/effort-table.ts';
import { documentsWith, type Generator, markdownTable } from './generator.ts';

export const profileDocs: Generator = {
  name: 'profiles',
  source: 'src/filter/upstream',
  files: () => {
    const sections = [...builtInProfiles.map(sectionOf), usualList(), ruleList(), toolTable(), flagTable()].join(
      '\n\n',
    );
    return {
      ...documentsWith({
        'docs/upstreams.md': { choice: choiceTable() },
        'docs/upstreams-reference.md': { profiles: sections },
      }),
      'docs/upstream-profiles.schema.json': `${JSON.stringify(profilesFileJsonSchema(), null, 2)}\n`,
    };
  },
};

/** One line for each profile: what it is for, and its place in the reference. */
function choiceTable(): string {
  const rows = builtInProfiles.map(({ profile: { name }, about }) => {
    const [what = ''] = about.split(/(?<=[.:]) /);
    const link = `[\`${name}\`](upstreams-reference.md#${name.replaceAll('.', '')})`;
    return [what.replace(/[.:]$/, '').replaceAll('|', '\\|'), link];
  });
  return markdownTable(['Your server', 'Profile'], rows);
}

function sectionOf(row: BuiltInProfile): string {
  const { profile, base, about, reasons } = row;
  const flags = Object.keys(profileFlags).filter((flag): flag is FlagName => flag in reasons);
  const isUsual = (flag: FlagName) => usualReasons.has(reasonKey(row, flag));
  const usual = flags.filter(isUsual).map((flag) => {
    const unsourced = reasons[flag]?.endsWith(' †') ? ' †' : '';
    return `\`${flag}\` ${code(profile[flag])}${unsourced}`;
  });
  const rules = rulesOf(row);
  const shared = sharedRules.filter((rule) => rules.includes(rule)).map(({ match }) => code(match));
  const hasTemplates = profile.models.length > ownRulesOf(profile).length;
  const elsewhere = [...(hasTemplates ? ['chat templates'] : []), ...shared];
  const own = [
    ...flags.filter((flag) => !isUsual(flag)).map((flag) => `- \`${flag}\` ${code(profile[flag])}: ${reasons[flag]}`),
    ...rules.filter((rule) => !sharedRules.includes(rule)).map(ruleLine),
  ];
  return [
    `## ${profile.name}`,
    about,
    namesOf(row),
    ...(elsewhere.length === 0 ? [] : [`[Rules for models](#rules-for-models): ${elsewhere.join(', ')}.`]),
    ...(base?.base == null ? [] : [`As \`${base.profile.name}\`, but:`]),
    ...(usual.length === 0 ? [] : [`For [usual reasons](#usual-reasons): ${usual.join(', ')}.`]),
    ...(own.length === 0 ? [] : [own.join('\n')]),
  ].join('\n\n');
}

function ruleLine({ match, flags, reason = '' }: ModelRule): string {
  const set = Object.entries(flags).map(([flag, value]) => `\`${flag}\` ${code(value)}`);
  return `- for models ${code(match)} ${set.join(', ')}: ${reason}`;
}

/** A flag and why, without the mark of what has no source. */
function reasonKey({ reasons }: BuiltInProfile, flag: FlagName): string {
  return `\`${flag}\`: ${reasons[flag]?.replace(/ †$/, '')}`;
}

/** Reasons that several profiles have, said once: of each flag the one that most have. */
const usualReasons: ReadonlySet<string> = new Set(
  (Object.keys(profileFlags) as FlagName[]).flatMap((flag) => {
    const all = builtInProfiles.filter(({ reasons }) => flag in reasons).map((row) => reasonKey(row, flag));
    const count = (one: string) => all.filter((other) => other === one).length;
    return saidSeveralTimes(all)
      .toSorted((one, other) => count(other) - count(one))
      .slice(0, 1);
  }),
);

/** Rules of several profiles that are not those of chat templates. */
const sharedRules: readonly ModelRule[] = saidSeveralTimes(builtInProfiles.flatMap(rulesOf));

function saidSeveralTimes<Said>(all: readonly Said[]): readonly Said[] {
  return [...new Set(all.filter((one, index) => all.indexOf(one) !== index))];
}

function usualList(): string {
  return `## Usual reasons\n\nWhy a flag is set, where a profile above does not say:\n\n${[...usualReasons].map((reason) => `- ${reason}`).join('\n')}`;
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

/** Those that differ from the base, chat templates' apart. */
function rulesOf({ profile, base }: BuiltInProfile): readonly ModelRule[] {
  return ownRulesOf(profile).filter((rule) => base?.base == null || !base.profile.models.includes(rule));
}

function ownRulesOf({ models }: BuiltInProfile['profile']): readonly ModelRule[] {
  return models.filter((rule) => !templateRules.includes(rule));
}

function ruleList(): string {
  const rows = [...templateRules, ...sharedRules].map(ruleLine);
  const about =
    'What a model’s chat template refuses is refused by every server that runs it: their profiles have these rules, by the model’s name. The last ones are of models behind several hosts.';
  return `## Rules for models\n\n${about}\n\n${rows.join('\n')}`;
}

/** Flags of what a session carries from model to model: tools, their names and schemas, and calls. */
const toolFlags = ['toolSchemaRoot', 'maxToolName', 'callIdForm'] as const;

/** What servers refuse of tools and calls, with the source, in one place. */
function toolTable(): string {
  const ofServers = builtInProfiles.flatMap((row) => {
    const { profile, reasons } = row;
    const own = toolFlags.flatMap((flag) => {
      const reason = reasons[flag];
      return reason === undefined ? [] : [[`\`${profile.name}\`: \`${flag}\` ${code(profile[flag])}`, reason]];
    });
    const rules = rulesOf(row).filter((rule) => !sharedRules.includes(rule));
    return [...own, ...rules.flatMap(toolRow)];
  });
  const rows = [...ofServers, ...[...templateRules, ...sharedRules].flatMap(toolRow)].map((row) =>
    row.map((cell) => cell.replaceAll('|', '\\|')),
  );
  const about =
    'A session brings tools and calls of other servers, and one that is refused ends it, since it is sent in every turn. [A guard](../test/support/server-guards.ts) refuses what each server does; the tests put every golden request through it.';
  return `## What servers refuse of tools and calls\n\n${about}\n\n${markdownTable(['Server, and what it is sent', 'Because'], rows)}`;
}

function toolRow({ match, flags, reason = '' }: ModelRule): string[][] {
  const set = toolFlags.filter((flag) => flag in flags).map((flag) => `\`${flag}\` ${code(flags[flag])}`);
  return set.length === 0 ? [] : [[`models ${code(match)}: ${set.join(', ')}`, reason]];
}

function flagTable(): string {
  const generic = builtInProfiles[0]?.profile;
  const rows = (Object.keys(profileFlags) as FlagName[]).map((flag) => {
    const usual = generic === undefined ? '' : `; ${code(generic[flag])}`;
    const probe = unprobed.has(profileFlags[flag]) ? ' ○' : '';
    return `- \`${flag}\`${probe} (${takenBy(flag)}${usual}): ${profileFlags[flag].description} _For ${neededBy(flag)}._`;
  });
  const about =
    'What each takes; its value in `generic`; what it means. [`doctor`](doctor.md#probes) probes for all but those with a ○, for which [profile.ts](../src/filter/upstream/profile.ts) says why no request can show them.';
  return `## Flags\n\n${about}\n\n${rows.join('\n')}`;
}

/** Who sets the flags that no built-in profile does. */
const ofOperators: { readonly [Name in FlagName]?: string } = {
  guardrails: 'operators of LiteLLM or NeMo Guardrails',
  image: 'operators of models that take text alone',
  phase: 'operators whose server knows `phase`',
  implicitThink: 'operators whose chat template opens the reasoning',
  contextOverflow: 'operators whose server words it in its own way',
  cumulativeDeltas: 'operators whose server repeats the text, as some models of DashScope’s coding plan do',
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
  if (operators !== undefined) return operators;
  return needs.length < 4 ? needs.join(', ') : `${needs.slice(0, 2).join(', ')} and ${needs.length - 2} more`;
}

function code(value: unknown): string {
  const tabled = Array.isArray(value) ? value.filter((rule) => tabledRules.has(rule)) : [];
  const own = Array.isArray(value) && tabled.length > 0 ? value.filter((rule) => !tabledRules.has(rule)) : value;
  const text = value instanceof RegExp ? String(value) : spaced(own);
  const others =
    tabled.length === 0 ? '' : `[${tabled.length} rules](../src/filter/upstream/servers/effort-table.ts) and `;
  return `${others}\`${text}\``;
}

/** JSON that can break between its parts, so that a table fits its column. */
function spaced(value: unknown): string {
  return (flagJson(value, 1) ?? 'undefined').replace(/\n\s*/g, ' ').replace(/([[{]) | (?=[\]}])/g, '$1');
}

/** Too long for a cell. */
const tabledRules: ReadonlySet<unknown> = new Set(Object.values(effortTable).flat());
