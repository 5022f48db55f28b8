import type { ProfileFlags } from '../../../filter/index.ts';
import { callFormOf, type LimitField, limitFound } from '../chat-body.ts';
import { factOf, failed, found, lacking, taken } from '../findings.ts';
import type { Findings } from '../probe-types.ts';
import { efforts, replayFields } from '../probes/reasoning-probes.ts';
import { type Evidence, type EvidenceRow, equal, type Subject, shows, where } from './evidence.ts';

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
  { flags: ['path'], probes: [], read: (_findings, { path }) => equal('the URL', { path }) },

  // The stream's usage, and the messages of a conversation.
  where(limitFields, (findings) => betterLimit(findings) === 'max_tokens', { maxTokensField: 'max_tokens' }),
  where(limitFields, (findings) => betterLimit(findings) === 'max_completion_tokens', {
    maxTokensField: 'max_completion_tokens',
  }),
  shows('stream_usage', ['works'], { includeUsage: true }),
  where(['stream_usage'], (findings) => taken(findings, 'stream') && found(findings, 'stream_usage', ...lacking), {
    includeUsage: false,
  }),
  where(['stream'], (findings) => factOf(findings, 'cumulative') === true, { cumulativeDeltas: true }),
  where(['tool_result_empty', 'tool_result_both'], (findings) => callFormOf(findings)?.content === '', {
    emptyAssistantContent: 'empty',
  }),
  where(['tool_result_ids', 'tool_result_both'], (findings) => callFormOf(findings)?.nineCharacterIds === true, {
    callIdForm: 'alphanumeric_9',
  }),
  where(['tool_result_signed'], (findings) => callFormOf(findings)?.signature === true, { geminiSignatures: true }),
  shows('two_users', failed, { alternateRoles: true }),
  shows('assistant_first', failed, { alternateRoles: true }),
  // Alternation repairs this as well.
  shows(
    'user_after_tool',
    failed,
    { assistantAfterTool: true },
    (flags) => flags.assistantAfterTool || flags.alternateRoles,
  ),
  shows('two_calls', failed, { singleCalls: true }),
  where(
    ['calls_without_tools', 'user_after_tool'],
    (findings) => found(findings, 'calls_without_tools', ...failed) && taken(findings, 'user_after_tool'),
    { stubTools: true },
  ),
  shows('developer', failed, { developerRole: 'system' }),
  shows('no_user', failed, { needsUser: true }),
  // Alternation puts a user in front of an assistant.
  shows('assistant_alone', failed, { needsUser: true }, (flags) => flags.needsUser || flags.alternateRoles),
  shows('text_parts', failed, { arrayContent: false }),
  shows('two_systems', failed, { systemMessages: 'merge_leading' }, (flags) => flags.systemMessages !== 'anywhere'),
  shows('system_later', failed, { systemMessages: 'leading_only' }),

  // Tools, and their choice.
  where(['tool_call', 'tool_stream'], takesNone, { tools: false }),
  // Whatever the profile says.
  where(['tool_call'], (findings) => taken(findings, 'tool_call'), { tools: true }),
  where(['tools', 'tools_no_effort'], (findings) => !takesNone(findings) && taken(findings, 'tools_no_effort'), {
    effortWithTools: { effort: 'none', when: 'offered' },
  }),
  besideCalls('tool_strict', { strict: false }),
  besideCalls('parallel_off', { parallelToolCalls: false }),
  where(
    ['tool_custom'],
    (findings) => !takesNone(findings) && found(findings, 'tool_custom', ...failed),
    { customTools: 'wrapped' },
    ({ customTools }) => customTools !== 'native',
  ),
  where(
    ['tool_custom', 'tool_required'],
    (findings) =>
      !takesNone(findings) &&
      found(findings, 'tool_custom', ...failed) &&
      factOf(findings, 'badArguments') === true &&
      taken(findings, 'tool_strict'),
    { customTools: 'wrapped_strict' },
  ),
  { flags: ['toolChoice'], probes: choiceProbes, read: readChoice },

  // Fields, and what a message may hold.
  { flags: ['refusedFields'], probes: refusable, read: readRefused },
  shows('image', ['works'], { image: true }),
  where(
    ['models', 'software'],
    (findings) => factOf(findings, 'takesImages') === false && !found(findings, 'image', 'works'),
    { image: 'omit' },
    takesNoImages,
  ),
  shows('image', ['ignored'], { image: 'omit' }, takesNoImages),
  // A server without images has no video either: it is not probed.
  shows('image', failed, { image: 'omit', video: false }, (flags) => takesNoImages(flags) && !flags.video),
  shows('audio', failed, { audio: false }),
  shows('user', failed, { user: false }),
  shows('json_schema', ['works'], { jsonSchema: 'native' }, ({ jsonSchema }) => jsonSchema.startsWith('native')),
  shows(
    'schema_with_tools',
    lacking,
    { jsonSchema: 'native_without_tools' },
    ({ jsonSchema }) => jsonSchema !== 'native',
  ),
  schemaFallback('prompt', false),
  schemaFallback('json_object', true),

  // Reasoning: effort, where it is read, and where it is sent back.
  { flags: ['reasoningEffort', 'effortRules'], probes: efforts.map((effort) => `effort_${effort}`), read: readEfforts },
  movedOut('reasoning_split', { reasoning_split: true }),
  movedOut('reasoning_format', { reasoning_format: 'parsed' }, 'reasoning_split'),
  { flags: ['thinkTags', 'implicitThink'], probes: ['text', 'reasoning'], read: readTags },
  where(['reasoning'], (findings) => factOf(findings, 'reasoningExtra') === true, { reasoningTokensExtra: true }),
  { flags: ['reasoningReplay'], probes: ['reasoning_replay'], read: readReplay },
];

/** Returns what the findings say of the flags. */
export function evidenceOf(findings: Findings, subject: Subject): Evidence[] {
  return allEvidence.flatMap((row) => row.read(findings, subject) ?? []);
}

/** The field for limiting an answer that the server supports better; null if it supports both alike. */
function betterLimit(findings: Findings): LimitField | null {
  const [older = 0, newer = 0] = limitFields.map((name) => {
    if (limitFound(findings, name, 'works')) return 2;
    return limitFound(findings, name, 'accepted') ? 1 : 0;
  });
  if (older === newer) return null;
  return older > newer ? 'max_tokens' : 'max_completion_tokens';
}

/** True if the server refuses every request with a tool. Probes with tools then prove nothing about other fields. */
function takesNone(findings: Findings): boolean {
  return found(findings, 'tool_call', ...failed) && found(findings, 'tool_stream', ...failed);
}

/** Builds evidence from a probe that fails. It counts only if the server accepts plain tool calls. */
function besideCalls(probe: string, wanted: Parameters<typeof shows>[2]): EvidenceRow {
  return where(
    [probe],
    (findings) => !found(findings, 'tool_call', ...failed) && found(findings, probe, ...failed),
    wanted,
  );
}

function takesNoImages({ image }: ProfileFlags): boolean {
  return image !== true;
}

function schemaFallback(jsonSchema: 'prompt' | 'json_object', objectsWork: boolean): EvidenceRow {
  return where(
    ['json_schema', 'json_object'],
    (findings) => found(findings, 'json_schema', ...lacking) && found(findings, 'json_object', 'works') === objectsWork,
    { jsonSchema },
  );
}

function readRefused(findings: Findings): Evidence {
  const lost = refusable.filter((name) => found(findings, name, ...lacking));
  const kept: readonly string[] = seen.filter((name) => found(findings, name, 'works'));
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
function movedOut(probe: string, fields: Readonly<Record<string, string | boolean>>, better?: string): EvidenceRow {
  return {
    flags: ['defaults'],
    probes: [probe],
    read: (findings) =>
      found(findings, probe, 'works') && !(better !== undefined && found(findings, better, 'works'))
        ? {
            from: probe,
            fits: ({ defaults }) => Object.entries(fields).every(([name, value]) => defaults[name] === value),
            change: ({ defaults }) => ({ defaults: { ...defaults, ...fields } }),
          }
        : null,
  };
}

function readTags(findings: Findings): Evidence | null {
  const tags = factOf(findings, 'tags');
  // A field that moves it out of the text does better.
  const isMoved = found(findings, 'reasoning_split', 'works') || found(findings, 'reasoning_format', 'works');
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
  const known = efforts.filter((effort) => found(findings, `effort_${effort}`, 'works', 'accepted', 'ignored'));
  const refused = efforts.filter((effort) => found(findings, `effort_${effort}`, ...failed));
  if (refused.length === 0) return null;
  const from = refused.map((effort) => `effort_${effort}`).join(', ');
  if (known.length === 0)
    return equal(from, { reasoningEffort: 'none' }, ({ reasoningEffort }) => reasoningEffort !== 'reasoning_effort');
  const replacements = Object.fromEntries(refused.map((effort) => [effort, nearest(effort, known)]));
  return equal(
    from,
    { effortRules: [{ models: /./, efforts: replacements }] },
    (flags) =>
      flags.reasoningEffort !== 'reasoning_effort' ||
      refused.every((effort) => known.some((other) => other === replacedBy(flags, effort, model))),
  );
}

function replacedBy({ effortRules }: ProfileFlags, effort: string, model: string): string | undefined {
  return effortRules.find(({ models }) => models.test(model))?.efforts[effort];
}

/** The closest accepted effort, of two the greater. `none` only replaces the lowest effort. */
function nearest(effort: (typeof efforts)[number], known: readonly (typeof efforts)[number][]): string {
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
  const read = factOf(findings, 'replayRead') ?? [];
  const refused = factOf(findings, 'replayRefused') ?? [];
  const [first] = replayFields.filter((field) => read.includes(field));
  if (first !== undefined) {
    const fitting: readonly string[] = [...read, ...(refused.length === 0 ? ['both'] : [])];
    return equal('reasoning_replay', { reasoningReplay: first }, ({ reasoningReplay }) =>
      fitting.includes(reasoningReplay),
    );
  }
  if (refused.length === 0) return null;
  const refuses = (flag: string) => refused.includes(flag) || flag === 'both';
  return equal('reasoning_replay', { reasoningReplay: 'none' }, ({ reasoningReplay }) => !refuses(reasoningReplay));
}

/** Judges each part of the flag for tool choices. A part counts only if its own probe showed something. */
function readChoice(findings: Findings): Evidence | null {
  if (takesNone(findings)) return null;
  // If the model never calls a tool, it shows nothing that it does not with `tool_choice`.
  const calls = found(findings, 'tool_call', 'works') || found(findings, 'tool_required', 'works');
  const lacks = (name: string) => found(findings, name, ...(calls ? lacking : failed));
  const works = (name: string) => found(findings, name, 'works');
  const known: Partial<{ -readonly [Part in keyof ProfileFlags['toolChoice']]: ProfileFlags['toolChoice'][Part] }> = {};
  if (works('tool_required')) known.required = 'required';
  else if (works('tool_any')) known.required = 'any';
  else if (lacks('tool_required')) known.required = found(findings, 'tool_required', 'ignored') ? 'ignored' : null;
  for (const part of ['named', 'allowed'] as const)
    if (works(`tool_${part}`) || lacks(`tool_${part}`)) known[part] = works(`tool_${part}`);
  if (found(findings, 'tool_none', ...failed) && known.required === null) known.sent = false;
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
