/** What the profiles are: the tables of `docs/upstreams.md` and `docs/upstreams-reference.md`, and the JSON schema that editors use for `UPSTREAM_PROFILES_FILE`. */

import {
  builtInProfiles,
  effortTable,
  type ProfileFlags,
  profileFlags,
  profilesFile,
  templateRules,
} from '../../src/filter/index.ts';
import { jsonWithPatterns } from '../../src/formats/json/loose.ts';
import { documentsWith, type Generator } from './generator.ts';

const rows = [...builtInProfiles.values()];
type BuiltInProfile = (typeof rows)[number];
type ModelRule = BuiltInProfile['profile']['models'][number];

export const profileDocs: Generator = {
  name: 'profiles',
  source: 'src/filter/upstream',
  files: () => {
    const [generic, ...others] = rows;
    const byName = others.toSorted((one, other) => (one.profile.name < other.profile.name ? -1 : 1));
    const profiles = [...(generic === undefined ? [] : [generic]), ...byName].map(sectionOf);
    const sections = [...profiles, usualList(), ruleList(), flagTable()].join('\n\n');
    return {
      ...documentsWith({
        'docs/upstreams.md': { choice: choiceList() },
        'docs/upstreams-reference.md': { profiles: sections },
      }),
      'docs/upstream-profiles.schema.json': `${JSON.stringify(profilesFile().profilesFileJsonSchema(), null, 2)}\n`,
    };
  },
};

/** One line for each profile whose name does not say what it is for, and one for all others; with its place in the reference. */
function choiceList(): string {
  const link = (name: string) => `[\`${name}\`](upstreams-reference.md#${name.replaceAll('.', '')})`;
  const isIn = (text: string, name: string) =>
    text.toLowerCase().replaceAll(/\W/g, '').includes(name.replaceAll('.', ''));
  const all = rows.map(({ profile: { name }, about }) => {
    const what = (about.split(/(?<=[.:]) /)[0] ?? '').replace(/[.:]$/, '');
    return { name, what, isPlain: isIn(what, name) && /^\S+( \w+)?$/.test(what) };
  });
  const plain = all.filter(({ isPlain }) => isPlain).map(({ name }) => link(name));
  const others = all.filter(({ isPlain }) => !isPlain).map(({ name, what }) => `- ${link(name)}: ${what}`);
  return [...others, `- ${plain.join(', ')}: what their names say`].join('\n');
}

function sectionOf(row: BuiltInProfile): string {
  const { profile, base, about, reasons } = row;
  const flags = Object.keys(profileFlags).filter((flag): flag is keyof ProfileFlags => flag in reasons);
  const isUsual = (flag: keyof ProfileFlags) => usualReasons.has(reasonKey(row, flag));
  const usual = flags.filter(isUsual).map((flag) => {
    const unsourced = reasons[flag]?.endsWith(' †') ? ' †' : '';
    return `${setting(flag, profile[flag])}${unsourced}`;
  });
  const own = [
    ...flags.filter((flag) => !isUsual(flag)).map((flag) => `- ${setting(flag, profile[flag])}: ${reasons[flag]}`),
    ...rulesOf(row)
      .filter((rule) => !sharedRules.includes(rule))
      .map(ruleLine),
  ];
  const like = base?.base == null ? [] : [`As \`${base.profile.name}\`, but:`];
  const usualLine = usual.length === 0 ? [] : [`[Usual](#usual-reasons): ${usual.join(', ')}.`];
  return [
    `## ${profile.name}`,
    `${about} ${namesOf(row)}`,
    ...(like.length + usualLine.length === 0 ? [] : [[...like, ...usualLine].join(' ')]),
    ...(own.length === 0 ? [] : [own.join('\n')]),
  ].join('\n\n');
}

function ruleLine({ match, flags, reason = '' }: ModelRule): string {
  const values: Partial<ProfileFlags> = flags;
  const set = (Object.keys(values) as (keyof ProfileFlags)[]).map((flag) => setting(flag, values[flag]));
  return `- ${code(match)} ${set.join(', ')}: ${reason}`;
}

/** A flag and why, without the mark of what has no source. */
function reasonKey({ reasons }: BuiltInProfile, flag: keyof ProfileFlags): string {
  return `\`${flag}\`: ${reasons[flag]?.replace(/ †$/, '')}`;
}

/** Reasons that several profiles have, said once: of each flag the one that most have. */
const usualReasons: ReadonlySet<string> = new Set(
  (Object.keys(profileFlags) as (keyof ProfileFlags)[]).flatMap((flag) => {
    const all = rows.filter(({ reasons }) => flag in reasons).map((row) => reasonKey(row, flag));
    const count = (one: string) => all.filter((other) => other === one).length;
    return saidSeveralTimes(all)
      .toSorted((one, other) => count(other) - count(one))
      .slice(0, 1);
  }),
);

/** Rules of several profiles that are not those of chat templates. */
const sharedRules: readonly ModelRule[] = saidSeveralTimes(rows.flatMap(rulesOf));

function saidSeveralTimes<Said>(all: readonly Said[]): readonly Said[] {
  return [...new Set(all.filter((one, index) => all.indexOf(one) !== index))];
}

function usualList(): string {
  return `## Usual reasons\n\n${[...usualReasons]
    .toSorted()
    .map((reason) => `- ${reason}`)
    .join('\n')}`;
}

/** How `doctor` recognises the server, and its name in telemetry where that is not the profile's. */
function namesOf({ profile, recognisedBy, otelName }: BuiltInProfile): string {
  const isOther = otelName !== undefined && otelName !== profile.name;
  return `${recognition(recognisedBy)}${isOther ? ` Provider \`${otelName}\`.` : ''}`;
}

function recognition(by: BuiltInProfile['recognisedBy']): string {
  if ('not' in by) return `Not recognised. ${by.not}`;
  if ('hosts' in by) return `Hosts: ${by.hosts.map((host) => `\`${host}\``).join(', ')}.`;
  const { ownedBy, path, fingerprint } = by.engine;
  const signs = [
    ...(ownedBy === null ? [] : [`the owner \`${ownedBy}\` in \`/v1/models\``]),
    ...(path === null ? [] : [`what it answers at \`${path}\``]),
    ...(fingerprint === undefined ? [] : ['the `system_fingerprint` of its answers']),
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
  const withTemplates = rows.filter(({ profile }) => profile.models.length > ownRulesOf(profile).length);
  const about = `These rules are for what chat templates refuse, by the model’s name. They are in the profiles ${namesIn(withTemplates)}.`;
  const shared = sharedRules.map((rule) => {
    const having = rows.filter((row) => rulesOf(row).includes(rule));
    return `${ruleLine(rule)} In ${namesIn(having)}.`;
  });
  return `## Rules for models\n\n${about}\n\n${[...templateRules.map(ruleLine), ...shared].join('\n')}`;
}

function namesIn(some: readonly BuiltInProfile[]): string {
  return some.map(({ profile }) => profile.name).join(', ');
}

function flagTable(): string {
  const generic = rows[0]?.profile;
  const lines = (Object.keys(profileFlags) as (keyof ProfileFlags)[]).toSorted().map((flag) => {
    const taken = profilesFile().takenBy(flag);
    const who = neededBy(flag);
    const about = profileFlags[flag];
    const isListed = taken.split(', ').every((value) => about.meanings?.[value.replaceAll('"', '')] !== undefined);
    const values = taken === 'true, false' || isListed ? '' : `${taken}; `;
    const list = Object.entries(about.meanings ?? {}).map(([value, text]) => `\n  - \`${value}\`: ${text}`);
    const probe = about.unprobed === undefined ? '' : ' ○';
    return `- <a id="flag-${flag}"></a>\`${flag}\`${probe} (${values}${code(generic?.[flag])}): ${about.meaning}${who === null ? '' : ` _${who}._`}${list.join('')}`;
  });
  const about =
    'Each line has the values of the flag, unless they are true and false or listed below it, then its value in `generic`, and its meaning. [`doctor`](doctor.md#probes) probes for every flag without a ○; [profile.ts](../src/filter/upstream/profile.ts) says why not for the others.';
  return `## Flags\n\n${about}\n\n${lines.join('\n')}`;
}

/** Who sets the flags that no built-in profile does. */
const ofOperators: { readonly [Name in keyof ProfileFlags]?: string } = {
  guardrails: 'For LiteLLM, NeMo Guardrails',
  image: 'For models that take text alone',
  implicitThink: 'For chat templates that open the reasoning',
  contextOverflow: 'For servers with words of their own',
  cumulativeDeltas: 'For some models of DashScope’s coding plan',
  passExtensions: 'For clients that know extensions of the server',
};

/** Who sets a flag that no built-in profile does; null for the others. Throws where nobody does. */
function neededBy(flag: keyof ProfileFlags): string | null {
  const [generic, ...others] = rows.map(({ profile }) => profile);
  const rules = [...templateRules, ...others.flatMap(({ models }) => models)];
  const isSet =
    others.some((profile) => code(profile[flag]) !== code(generic?.[flag])) || rules.some(({ flags }) => flag in flags);
  const operators = ofOperators[flag];
  if ((operators === undefined) !== isSet)
    throw new Error(
      `${flag}: is set by a built-in profile, or by operators whom scripts/generate/profile-docs.ts names, or removed.`,
    );
  return operators ?? null;
}

/** A flag with its value: of a tool choice the keys that differ from `generic`, of efforts and tiers what each becomes. */
function setting<Name extends keyof ProfileFlags>(flag: Name, value: ProfileFlags[Name] | undefined): string {
  if (flag === 'effortRules') return `\`${flag}\` ${effortsOf(value as ProfileFlags['effortRules'])}`;
  if (flag === 'serviceTiers') {
    const words = Object.entries(value as ProfileFlags['serviceTiers']);
    return `\`${flag}\` ${code(words.map(([tier, word]) => (tier === word ? tier : `${tier}→${word}`)).join(', '))}`;
  }
  if (flag !== 'toolChoice') return `\`${flag}\` ${code(value)}`;
  const usual = Object.entries(rows[0]?.profile.toolChoice ?? {});
  const others = Object.entries(value as ProfileFlags['toolChoice']).filter(([key, one]) =>
    usual.some(([name, other]) => name === key && other !== one),
  );
  return `\`${flag}\` ${others.map(([key, one]) => code(`${key}: ${JSON.stringify(one)}`)).join(', ')}`;
}

/** `/gpt-6/i`: none/minimal→low. */
function effortsOf(rules: ProfileFlags['effortRules']): string {
  const own = rules.filter((rule) => !tabledEfforts.has(rule.efforts));
  const lines = own.map(({ models, efforts }) => {
    const targets = [...new Set(Object.values(efforts))];
    const sourcesOf = (target: string) => Object.keys(efforts).filter((effort) => efforts[effort] === target);
    const replaced = targets.map((target) => `${sourcesOf(target).join('/')}→${target}`).join(', ');
    if (String(models) !== '/./') return `${code(models)}: ${replaced}`;
    return rules.length === 1 ? replaced : `others: ${replaced}`;
  });
  const tabled = rules.length - own.length;
  const table = tabled === 0 ? [] : [`[${tabled} rules](../src/filter/upstream/servers/effort-table.ts)`];
  return [...table, ...lines].join('; ');
}

function code(value: unknown): string {
  return `\`${value instanceof RegExp || typeof value === 'string' ? String(value) : spaced(value)}\``;
}

/** JSON that can break between its parts, so that a table fits its column. */
function spaced(value: unknown): string {
  return (jsonWithPatterns(value, 1) ?? 'undefined').replace(/\n\s*/g, ' ').replace(/([[{]) | (?=[\]}])/g, '$1');
}

/** Too long for the page. */
const tabledEfforts: ReadonlySet<unknown> = new Set(
  Object.values(effortTable).flatMap((tabled) => tabled.map(([, efforts]) => efforts)),
);
