/** What the profiles are: the sections of `docs/upstreams.md`, and the JSON schema that editors use for `UPSTREAM_PROFILES_FILE`. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type FlagName, type ModelRule, profileFlags } from '../src/upstream/profile.ts';
import { type BuiltInProfile, builtInProfiles, templateRules } from '../src/upstream/profiles.ts';
import { profilesFileJsonSchema, takenBy } from '../src/upstream/profiles-file.ts';
import { type Generator, withSection } from './generator.ts';

export const profileDocs: Generator = {
  name: 'profiles',
  source: 'src/upstream',
  files: () => {
    const page = readFileSync(join(import.meta.dirname, '../docs/upstreams.md'), 'utf8');
    const sections = [...builtInProfiles.map(sectionOf), templateTable(), flagTable()].join('\n\n');
    return {
      'docs/upstreams.md': withSection(page, 'profiles', sections),
      'docs/upstream-profiles.schema.json': `${JSON.stringify(profilesFileJsonSchema(), null, 2)}\n`,
    };
  },
};

function sectionOf({ profile, base, about, reasons }: BuiltInProfile): string {
  const heading = `## ${profile.name}\n\n${about}`;
  const rules = profile.models.length === ownRulesOf(profile).length ? '' : `\n\n${templateNote}`;
  if (base === null) return `${heading}${rules}`;
  const flags = Object.keys(profileFlags).filter((flag): flag is FlagName => flag in reasons);
  const rows = flags.map((flag) => `| \`${flag}\` | ${code(profile[flag])} | ${cell(reasons[flag] ?? '')} |`);
  const ofModels = ownRulesOf(profile).flatMap(({ match, flags: some, reason = '' }) =>
    Object.entries(some).map(
      ([flag, value]) => `| \`${flag}\` for models ${code(match)} | ${code(value)} | ${cell(reason)} |`,
    ),
  );
  const table = [...rows, ...ofModels];
  const as = base.profile.name === 'generic' ? '' : `\n\nAs \`${base.profile.name}\`, but:`;
  return `${heading}${rules}${as}\n\n| Flag | Value | Why |\n| --- | --- | --- |\n${table.join('\n')}`;
}

const templateNote = 'With the rules for [chat templates](#chat-templates).';

function ownRulesOf({ models }: BuiltInProfile['profile']): readonly ModelRule[] {
  return models.filter((rule) => !templateRules.includes(rule));
}

function templateTable(): string {
  const rows = templateRules.map(({ match, flags, reason = '' }) => {
    const set = Object.entries(flags).map(([flag, value]) => `\`${flag}\` ${code(value)}`);
    return `| ${code(match)} | ${set.join(', ')} | ${cell(reason)} |`;
  });
  const about =
    'What the template of a model refuses belongs to the model, so the profiles of servers that run it have these rules, by the model’s name. The tests put every golden request, and random conversations, through the checks of these templates and of those that need no rule.';
  return `## Chat templates\n\n${about}\n\n| Models | Flags | Why |\n| --- | --- | --- |\n${rows.join('\n')}`;
}

function flagTable(): string {
  const generic = builtInProfiles[0]?.profile;
  const rows = (Object.keys(profileFlags) as FlagName[]).map((flag) => {
    const meaning = profileFlags[flag].description ?? '';
    return `| \`${flag}\` | ${cell(takenBy(flag))} | ${generic === undefined ? '' : code(generic[flag])} | ${cell(meaning)} |`;
  });
  return `## Flags\n\n| Flag | Takes | In \`generic\` | Meaning |\n| --- | --- | --- | --- |\n${rows.join('\n')}`;
}

function code(value: unknown): string {
  const text =
    value instanceof RegExp
      ? String(value)
      : JSON.stringify(value, (_key, inner) => (inner instanceof RegExp ? String(inner) : inner));
  return `\`${cell(text)}\``;
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|');
}
