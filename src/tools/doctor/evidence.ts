import type { ProfileFlags } from '../../filter/index.ts';
import { type CallForm, findCallForm, hasLimitResult, type LimitField } from './chat-body.ts';
import { type Findings, failed, findFact, hasResult, isAccepted, lacking, type Result } from './findings.ts';
import { efforts, replayFields } from './probes/reasoning-probes.ts';

export type Flags = Partial<ProfileFlags>;

/**
 * Evidence from the probes about some flags. Only measurements count: an effect seen or missing, or an error. A server that
 * accepts a field without an error does not contradict a flag not to send it.
 */
export interface Evidence {
  readonly from: string;
  /** Whether a profile with these flags agrees with the evidence. */
  fits(flags: ProfileFlags): boolean;
  /** Changes to the flags with which the profile agrees with the evidence. */
  change(flags: ProfileFlags): Flags;
}

export interface Subject {
  readonly path: string;
  readonly model: string;
}

export interface EvidenceRow {
  readonly flags: readonly (keyof ProfileFlags)[];
  readonly probes: readonly string[];
  /** Derives evidence from the findings; null if they are inconclusive. */
  read(findings: Findings, subject: Subject): Evidence | null;
}

/** Evidence that the flags have exactly these values, or other values that `fits` accepts. */
function buildEvidence(from: string, wanted: Flags, fits?: Evidence['fits']): Evidence {
  const isSame = (flags: Flags) => (name: keyof Flags) => JSON.stringify(flags[name]) === JSON.stringify(wanted[name]);
  return { from, fits: fits ?? ((flags) => listFlags(wanted).every(isSame(flags))), change: () => wanted };
}

type Condition = (findings: Findings) => boolean;

/** Builds a row of evidence: if the condition holds, the flags must have these values, or others that `fits` accepts. */
function buildRowWhere(probes: readonly string[], wanted: Flags, holds: Condition, fits?: Evidence['fits']) {
  const evidence = buildEvidence(probes.join(', '), wanted, fits);
  return { flags: listFlags(wanted), probes, read: (findings: Findings) => (holds(findings) ? evidence : null) };
}

/** Builds a row of evidence: after one of these results the flags must have these values, or others that `fits` accepts. */
function buildRowFor(probe: string, results: readonly Result[], wanted: Flags, fits?: Evidence['fits']) {
  return buildRowWhere([probe], wanted, (findings) => hasResult(findings, probe, ...results), fits);
}

function listFlags(flags: Flags): (keyof ProfileFlags)[] {
  return Object.keys(flags) as (keyof ProfileFlags)[];
}

const limitFields = ['max_tokens', 'max_completion_tokens'] as const;
const choiceProbes = ['tool_required', 'tool_any', 'tool_named', 'tool_allowed', 'tool_none'];
const refusable = ['presence_penalty', 'frequency_penalty', 'logprobs', 'stop'] as const;

/** The effect of these fields shows in the answer, so that a profile that drops them can be wrong as well. */
const seen = ['logprobs', 'stop'] as const;

/**
 * The probes behind every flag that can be probed; if rows of one flag disagree, the later row counts. A flag without a
 * row says why in `upstream/profile.ts`.
 */
export const allEvidence: readonly EvidenceRow[] = [
  { flags: ['path'], probes: [], read: (_findings, { path }) => buildEvidence('the URL', { path }) },

  // The stream's usage, and the messages of a conversation.
  ...limitFields.map((name) =>
    buildRowWhere(limitFields, { maxTokensField: name }, (findings) => findBetterLimit(findings) === name),
  ),
  buildRowFor('stream_usage', ['works'], { includeUsage: true }),
  buildRowWhere(['stream_usage'], { includeUsage: false }, (findings) => {
    return isAccepted(findings, 'stream') && hasResult(findings, 'stream_usage', ...lacking);
  }),
  buildRowWhere(['stream'], { cumulativeDeltas: true }, (findings) => findFact(findings, 'cumulative') === true),
  buildFormRow(
    ['tool_result_empty', 'tool_result_both'],
    { emptyAssistantContent: 'empty' },
    ({ content }) => content === '',
  ),
  buildFormRow(
    ['tool_result_ids', 'tool_result_both'],
    { callIdForm: 'alphanumeric_9' },
    (form) => form.nineCharacterIds,
  ),
  buildFormRow(['tool_result_signed'], { geminiSignatures: true }, ({ signature }) => signature),
  buildRowFor('two_users', failed, { alternateRoles: true }),
  buildRowFor('assistant_first', failed, { alternateRoles: true }),
  // A profile that alternates roles needs no other repair of this.
  buildRowFor('user_after_tool', failed, { assistantAfterTool: true }, (flags) => {
    return flags.assistantAfterTool || flags.alternateRoles;
  }),
  buildRowFor('two_calls', failed, { singleCalls: true }),
  buildRowWhere(['calls_without_tools', 'user_after_tool'], { stubTools: true }, (findings) => {
    return hasResult(findings, 'calls_without_tools', ...failed) && isAccepted(findings, 'user_after_tool');
  }),
  buildRowFor('developer', failed, { developerRole: 'system' }),
  buildRowFor('no_user', failed, { needsUser: true }),
  // A profile that alternates roles puts a user message first.
  buildRowFor('assistant_alone', failed, { needsUser: true }, (flags) => flags.needsUser || flags.alternateRoles),
  buildRowFor('text_parts', failed, { arrayContent: false }),
  buildRowFor('two_systems', failed, { systemMessages: 'merge_leading' }, ({ systemMessages }) => {
    return systemMessages !== 'anywhere';
  }),
  buildRowFor('system_later', failed, { systemMessages: 'leading_only' }),

  // Tools, and their choice.
  buildRowWhere(['tool_call', 'tool_stream'], { tools: false }, refusesTools),
  // Calls that work contradict a profile without tools.
  buildRowFor('tool_call', ['works', 'accepted'], { tools: true }),
  buildRowWhere(['tools', 'tools_no_effort'], { effortWithTools: { effort: 'none', when: 'offered' } }, (findings) => {
    return !refusesTools(findings) && isAccepted(findings, 'tools_no_effort');
  }),
  buildRowBesideCalls('tool_strict', { strict: false }),
  buildRowBesideCalls('parallel_off', { parallelToolCalls: false }),
  buildRowWhere(['tool_custom'], { customTools: 'wrapped' }, refusesCustomTools, (flags) => {
    return flags.customTools !== 'native';
  }),
  buildRowWhere(['tool_custom', 'tool_required'], { customTools: 'wrapped_strict' }, (findings) => {
    const hasBadArguments = findFact(findings, 'badArguments') === true;
    return refusesCustomTools(findings) && hasBadArguments && isAccepted(findings, 'tool_strict');
  }),
  { flags: ['toolChoice'], probes: choiceProbes, read: readChoice },

  // Fields, and what a message may hold.
  { flags: ['refusedFields'], probes: refusable, read: readRefused },
  buildRowFor('image', ['works'], { image: true }),
  buildRowWhere(
    ['models', 'software'],
    { image: 'omit' },
    (findings) => findFact(findings, 'takesImages') === false && !hasResult(findings, 'image', 'works'),
    refusesImages,
  ),
  buildRowFor('image', ['ignored'], { image: 'omit' }, refusesImages),
  // A server without images has no video either: it is not probed.
  buildRowFor('image', failed, { image: 'omit', video: false }, (flags) => refusesImages(flags) && !flags.video),
  buildRowFor('audio', failed, { audio: false }),
  buildRowFor('user', failed, { user: false }),
  buildRowFor('json_schema', ['works'], { jsonSchema: 'native' }, ({ jsonSchema }) => jsonSchema.startsWith('native')),
  buildRowFor('schema_with_tools', lacking, { jsonSchema: 'native_without_tools' }, ({ jsonSchema }) => {
    return jsonSchema !== 'native';
  }),
  buildSchemaRow('prompt', false),
  buildSchemaRow('json_object', true),

  // Reasoning: its effort, where answers have it, and where requests repeat it.
  { flags: ['reasoningEffort', 'effortRules'], probes: efforts.map((effort) => `effort_${effort}`), read: readEfforts },
  buildMoveRow('reasoning_split', { reasoning_split: true }),
  buildMoveRow('reasoning_format', { reasoning_format: 'parsed' }, 'reasoning_split'),
  { flags: ['thinkTags', 'implicitThink'], probes: ['text', 'reasoning'], read: readTags },
  buildRowWhere(['reasoning'], { reasoningTokensExtra: true }, (findings) => {
    return findFact(findings, 'reasoningExtra') === true;
  }),
  { flags: ['reasoningReplay'], probes: ['reasoning_replay'], read: readReplay },
];

export function collectEvidence(findings: Findings, subject: Subject): Evidence[] {
  return allEvidence.flatMap((row) => row.read(findings, subject) ?? []);
}

/** The field for limiting an answer that the server supports better; null if it supports both alike. */
function findBetterLimit(findings: Findings): LimitField | null {
  const [older = 0, newer = 0] = limitFields.map((name) => {
    if (hasLimitResult(findings, name, 'works')) return 2;
    return hasLimitResult(findings, name, 'accepted') ? 1 : 0;
  });
  if (older === newer) return null;
  return older > newer ? 'max_tokens' : 'max_completion_tokens';
}

/** True if the server refuses every request with a tool. Probes with tools then prove nothing about other fields. */
function refusesTools(findings: Findings): boolean {
  return hasResult(findings, 'tool_call', ...failed) && hasResult(findings, 'tool_stream', ...failed);
}

function refusesCustomTools(findings: Findings): boolean {
  return !refusesTools(findings) && hasResult(findings, 'tool_custom', ...failed);
}

/** Builds evidence from a probe that fails. It counts only if the server accepts plain tool calls. */
function buildRowBesideCalls(probe: string, wanted: Flags): EvidenceRow {
  return buildRowWhere([probe], wanted, (findings) => {
    return !hasResult(findings, 'tool_call', ...failed) && hasResult(findings, probe, ...failed);
  });
}

/** Builds evidence from the form in which the server accepts finished calls. */
function buildFormRow(probes: readonly string[], wanted: Flags, isForm: (form: CallForm) => boolean) {
  return buildRowWhere(probes, wanted, (findings) => {
    const form = findCallForm(findings);
    return form !== null && isForm(form);
  });
}

function refusesImages({ image }: ProfileFlags): boolean {
  return image !== true;
}

function buildSchemaRow(jsonSchema: 'prompt' | 'json_object', objectsWork: boolean): EvidenceRow {
  return buildRowWhere(['json_schema', 'json_object'], { jsonSchema }, (findings) => {
    const lacksSchemas = hasResult(findings, 'json_schema', ...lacking);
    return lacksSchemas && hasResult(findings, 'json_object', 'works') === objectsWork;
  });
}

function readRefused(findings: Findings): Evidence {
  const lost = refusable.filter((name) => hasResult(findings, name, ...lacking));
  const kept: readonly string[] = seen.filter((name) => hasResult(findings, name, 'works'));
  return {
    from: [...lost, ...kept].join(', '),
    fits: ({ refusedFields }) =>
      lost.every((name) => refusedFields.includes(name)) && !refusedFields.some((name) => kept.includes(name)),
    change: ({ refusedFields }) => ({
      refusedFields: [...new Set([...refusedFields, ...lost])].filter((name) => !kept.includes(name)),
    }),
  };
}

/** Builds evidence for fields that move reasoning out of the text, unless a better probe works too. */
function buildMoveRow(probe: string, fields: Readonly<Record<string, string | boolean>>, better?: string): EvidenceRow {
  return {
    flags: ['defaults'],
    probes: [probe],
    read: (findings) =>
      hasResult(findings, probe, 'works') && !(better !== undefined && hasResult(findings, better, 'works'))
        ? {
            from: probe,
            fits: ({ defaults }) => Object.entries(fields).every(([name, value]) => defaults[name] === value),
            change: ({ defaults }) => ({ defaults: { ...defaults, ...fields } }),
          }
        : null,
  };
}

function readTags(findings: Findings): Evidence | null {
  const tags = findFact(findings, 'tags');
  // If a request field moves reasoning out of the text, no tags are left to read.
  const isMoved = hasResult(findings, 'reasoning_split', 'works') || hasResult(findings, 'reasoning_format', 'works');
  if (tags === undefined || isMoved) return null;
  const implicit = tags === 'closing';
  return {
    from: 'reasoning',
    fits: ({ thinkTags, implicitThink }) => thinkTags !== 'off' && implicitThink === implicit,
    change: ({ thinkTags }) => ({ thinkTags: thinkTags === 'off' ? 'auto' : thinkTags, implicitThink: implicit }),
  };
}

/** Finds the efforts that the server accepts, and for each other effort an accepted one as its substitute. */
function readEfforts(findings: Findings, { model }: Subject): Evidence | null {
  const known = efforts.filter((effort) => hasResult(findings, `effort_${effort}`, 'works', 'accepted', 'ignored'));
  const refused = efforts.filter((effort) => hasResult(findings, `effort_${effort}`, ...failed));
  if (refused.length === 0) return null;
  const from = refused.map((effort) => `effort_${effort}`).join(', ');
  if (known.length === 0)
    return buildEvidence(
      from,
      { reasoningEffort: 'none' },
      ({ reasoningEffort }) => reasoningEffort !== 'reasoning_effort',
    );
  const replacements = Object.fromEntries(refused.map((effort) => [effort, findNearest(effort, known)]));
  return buildEvidence(
    from,
    { effortRules: [{ models: /./, efforts: replacements }] },
    (flags) =>
      flags.reasoningEffort !== 'reasoning_effort' ||
      refused.every((effort) => known.some((other) => other === findReplacement(flags, effort, model))),
  );
}

function findReplacement({ effortRules }: ProfileFlags, effort: string, model: string): string | undefined {
  return effortRules.find(({ models }) => models.test(model))?.efforts[effort];
}

/** Finds the nearest accepted effort; of two equally near ones the greater. `none` replaces only the lowest effort. */
function findNearest(effort: (typeof efforts)[number], known: readonly (typeof efforts)[number][]): string {
  const at = efforts.indexOf(effort);
  const thinking = known.filter((other) => other !== 'none');
  const candidates = effort === 'minimal' || thinking.length === 0 ? known : thinking;
  const [best = 'low'] = candidates.toSorted((one, other) => {
    const distance = Math.abs(efforts.indexOf(one) - at) - Math.abs(efforts.indexOf(other) - at);
    return distance === 0 ? efforts.indexOf(other) - efforts.indexOf(one) : distance;
  });
  return best;
}

function readReplay(findings: Findings): Evidence | null {
  const read = findFact(findings, 'replayRead') ?? [];
  const refused = findFact(findings, 'replayRefused') ?? [];
  const [first] = replayFields.filter((field) => read.includes(field));
  if (first !== undefined) {
    const fitting: readonly string[] = [...read, ...(refused.length === 0 ? ['both'] : [])];
    return buildEvidence('reasoning_replay', { reasoningReplay: first }, ({ reasoningReplay }) =>
      fitting.includes(reasoningReplay),
    );
  }
  if (refused.length === 0) return null;
  const refuses = (flag: string) => refused.includes(flag) || flag === 'both';
  return buildEvidence(
    'reasoning_replay',
    { reasoningReplay: 'none' },
    ({ reasoningReplay }) => !refuses(reasoningReplay),
  );
}

/** Derives the flag for tool choices part by part. A part counts only if its own probe had a clear result. */
function readChoice(findings: Findings): Evidence | null {
  if (refusesTools(findings)) return null;
  // A model that never calls a tool proves nothing when `tool_choice` leads to no call either.
  const calls = hasResult(findings, 'tool_call', 'works') || hasResult(findings, 'tool_required', 'works');
  const lacks = (name: string) => hasResult(findings, name, ...(calls ? lacking : failed));
  const works = (name: string) => hasResult(findings, name, 'works');
  const known: Partial<{ -readonly [Part in keyof ProfileFlags['toolChoice']]: ProfileFlags['toolChoice'][Part] }> = {};
  if (works('tool_required')) known.required = 'required';
  else if (works('tool_any')) known.required = 'any';
  else if (lacks('tool_required')) known.required = hasResult(findings, 'tool_required', 'ignored') ? 'ignored' : null;
  for (const part of ['named', 'allowed'] as const)
    if (works(`tool_${part}`) || lacks(`tool_${part}`)) known[part] = works(`tool_${part}`);
  if (hasResult(findings, 'tool_none', ...failed) && known.required === null) known.sent = false;
  const parts = Object.keys(known) as (keyof ProfileFlags['toolChoice'])[];
  if (parts.length === 0) return null;
  return {
    from: 'tool_required, tool_named, tool_allowed, tool_none',
    // A profile that does not send the field depends on none of its values.
    fits: ({ toolChoice }) =>
      toolChoice.sent
        ? parts.every((part) => toolChoice[part] === known[part])
        : known.required !== 'required' && known.required !== 'any' && known.named !== true,
    change: ({ toolChoice }) => ({ toolChoice: { ...toolChoice, sent: known.sent ?? true, ...known } }),
  };
}
