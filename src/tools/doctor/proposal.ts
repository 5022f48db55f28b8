import {
  builtInProfiles,
  type Profile,
  type ProfileFlags,
  profileFlags,
  profileForModel,
  profilesFile,
} from '../../filter/index.ts';
import { jsonWithPatterns } from '../../formats/json/loose.ts';
import { collectEvidence, type Evidence } from './evidence.ts';
import { type Findings, findFact } from './findings.ts';

/** A flag in which the server differs from the profile, with the probes that say so. */
export interface Difference {
  readonly flag: keyof ProfileFlags;
  readonly value: unknown;
  readonly from: string;
}

export type Proposal = ReturnType<typeof proposeProfile>;

/** The advantage over `generic` that a profile needs to be chosen by probes: one flag in common is a coincidence. */
const minAdvantageOverGeneric = 1.5;

const unconfirmedFlagCost = 0.5;

/**
 * The built-in profile that fits best, and the flags that differ. A known host or engine decides; otherwise the profile
 * with the fewest wrong and unconfirmed flags.
 */
export function proposeProfile(findings: Findings, url: URL, model: string) {
  const evidence = collectEvidence(findings, { path: url.pathname, model });
  const { base, because } = chooseBase(evidence, findings, url.hostname, model);
  const differences = listDifferences(evidence, base, model);
  const own = buildProfileName(model);
  const file = writeProfilesFile(base, own, differences, model);
  checkProfilesFile(file, own, evidence, model);
  return {
    base: base.name,
    because,
    differences,
    /** The value for `UPSTREAM_PROFILE`: a new name, or the base profile's own if nothing differs. */
    name: differences.length === 0 ? base.name : own,
    file,
  };
}

function chooseBase(evidence: readonly Evidence[], findings: Findings, host: string, model: string) {
  const ofHost = findProfileOfHost(host);
  if (ofHost !== undefined) return { base: ofHost, because: `the host is ${host}` };
  const ofEngine = builtInProfiles.get(findFact(findings, 'software') ?? '')?.profile;
  if (ofEngine !== undefined) return { base: ofEngine, because: 'the engine says so' };
  // A server of a known engine would have identified itself.
  const others = [...builtInProfiles.values()].filter(({ recognisedBy }) => !('engine' in recognisedBy));
  const [generic, ...rest] = others.map(({ profile }) => profile);
  if (generic === undefined) throw new Error('There are no profiles.');
  const computeScoreFor = (profile: Profile) => computeScore(evidence, profile, generic, model);
  const base = rest.reduce((best, other) => (computeScoreFor(other) < computeScoreFor(best) ? other : best), generic);
  return { base, because: 'it comes closest to what the probes found' };
}

export function findProfileOfHost(host: string): Profile | undefined {
  return [...builtInProfiles.values()].find(
    ({ recognisedBy }) => 'hosts' in recognisedBy && recognisedBy.hosts.some((pattern) => isMatch(pattern, host)),
  )?.profile;
}

function isMatch(pattern: string, host: string): boolean {
  const [start = '', end] = pattern.split('*');
  if (end === undefined) return host === pattern;
  return host.length > start.length + end.length && host.startsWith(start) && host.endsWith(end);
}

function computeScore(evidence: readonly Evidence[], profile: Profile, generic: Profile, model: string): number {
  const flags = profileForModel(profile, model);
  const conflicts = listDifferences(evidence, profile, model).length;
  // The flags in which the profile differs from generic without evidence.
  const told = new Set(listDifferences(evidence, generic, model).map(({ flag }) => flag));
  const assumptions = flagNames.filter(
    (name) => JSON.stringify(flags[name]) !== JSON.stringify(generic[name]) && !told.has(name) && name !== 'path',
  ).length;
  return conflicts + unconfirmedFlagCost * assumptions + (profile === generic ? 0 : minAdvantageOverGeneric);
}

const flagNames = Object.keys(profileFlags) as (keyof ProfileFlags)[];

function listDifferences(evidence: readonly Evidence[], base: Profile, model: string): Difference[] {
  let flags: ProfileFlags = profileForModel(base, model);
  const differences = new Map<keyof ProfileFlags, Difference>();
  for (const { fits, change, from } of evidence) {
    if (fits(flags)) continue;
    const changed = change(flags);
    for (const flag of Object.keys(changed) as (keyof ProfileFlags)[])
      if (JSON.stringify(changed[flag]) !== JSON.stringify(flags[flag]) || flag === 'effortRules')
        differences.set(flag, { flag, value: changed[flag], from });
    flags = { ...flags, ...changed };
  }
  return [...differences.values()];
}

/** Builds the name of a proposed profile: `probed-` and the model's name, in characters that such a name may have. */
function buildProfileName(model: string): string {
  const words = model
    .toLowerCase()
    .replace(/[^\w.-]+/g, '-')
    .slice(0, 50);
  return `probed-${words}`.replace(/-+$/, '');
}

function writeProfilesFile(base: Profile, name: string, differences: readonly Difference[], model: string): string {
  // A flag that a rule of the base sets for this model goes into a rule: elsewhere it would count for all other models
  // too.
  const rules = base.models.filter(({ match }) => match.test(model));
  const byModel = new Set<string>(rules.flatMap(({ flags }) => Object.keys(flags)));
  // JSON is YAML.
  const line = ({ flag, value, from }: Difference, indent: string) =>
    `${indent}${flag}: ${jsonWithPatterns(value)} # ${from}\n`;
  const own = differences.filter(({ flag }) => !byModel.has(flag));
  const ruled = differences.filter(({ flag }) => byModel.has(flag));
  const rule = `/^${model.replace(/[^\w\s:-]/g, '\\$&')}$/`;
  return [
    `# Made by responses-extproc doctor from what the model ${JSON.stringify(model)} answered; behind each flag, the probes that say so.\n`,
    `profiles:\n  ${JSON.stringify(name)}:\n    extends: ${JSON.stringify(base.name)}\n`,
    ...own.map((difference) => line(difference, '    ')),
    ...(ruled.length === 0 ? [] : [`    models:\n      ${JSON.stringify(rule)}:\n`]),
    ...ruled.map((difference) => line(difference, '        ')),
  ].join('');
}

/** Reads the proposed file as the service does. Throws unless it has the flags that were found. */
function checkProfilesFile(file: string, name: string, evidence: readonly Evidence[], model: string): void {
  const profile = profilesFile().readProfilesFile(file, 'the proposed file').get(name);
  if (profile === undefined) throw new Error(`The proposed file has no profile ${name}.`);
  const flags = profileForModel(profile, model);
  const wrong = evidence.filter(({ fits }) => !fits(flags));
  if (wrong.length > 0)
    throw new Error(`The proposed profile contradicts ${wrong.map(({ from }) => from).join('; ')}.`);
}
