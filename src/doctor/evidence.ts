import type { ProfileFlags, ToolChoiceSupport } from '../upstream/profile.ts';
import { callFormOf } from './chat-body.ts';
import { type Findings, factOf, found, taken } from './probe.ts';
import { efforts, replayFields } from './probes/reasoning-probes.ts';

type Flags = Partial<ProfileFlags>;

/**
 * What the probes say of some flags. Only what was measured counts: an effect seen or missing, or an error. That a server
 * took a field without an error says nothing about a flag that would rather not send it.
 */
export interface Evidence {
  /** The probes it comes from. */
  readonly from: string;
  /** Whether the flags of a profile agree with what was found. */
  fits(flags: ProfileFlags): boolean;
  /** The flags that make a profile agree. */
  change(flags: ProfileFlags): Flags;
}

/** All evidence of the findings about `model`; `path` is the path of the Chat API that was probed. */
export function evidenceOf(findings: Findings, path: string, model: string): Evidence[] {
  return [
    equal('the URL', { path }),
    ...limitEvidence(findings),
    ...messageEvidence(findings),
    ...toolEvidence(findings),
    ...fieldEvidence(findings),
    ...effortEvidence(findings, model),
    ...reasoningEvidence(findings),
  ];
}

/** The flags have exactly these values. */
function equal(from: string, wanted: Flags): Evidence {
  return { from, fits: (flags) => agrees(flags, wanted), change: () => wanted };
}

function agrees(flags: ProfileFlags, wanted: Flags): boolean {
  return (Object.keys(wanted) as (keyof ProfileFlags)[]).every(
    (name) => JSON.stringify(flags[name]) === JSON.stringify(wanted[name]),
  );
}

/** Evidence for these values if one of the probes had one of the results. */
function when(condition: boolean, from: string, wanted: Flags): Evidence[] {
  return condition ? [equal(from, wanted)] : [];
}

function limitEvidence(findings: Findings): Evidence[] {
  const rank = (name: 'max_tokens' | 'max_completion_tokens') =>
    found(findings, name, 'works') ? 2 : found(findings, name, 'accepted') ? 1 : 0;
  const [older, newer] = [rank('max_tokens'), rank('max_completion_tokens')];
  if (older === newer) return [];
  const better = older > newer ? 'max_tokens' : 'max_completion_tokens';
  return [equal('max_tokens, max_completion_tokens', { maxTokensField: better })];
}

function messageEvidence(findings: Findings): Evidence[] {
  const refused = (name: string) => found(findings, name, 'refused', 'broken');
  const form = callFormOf(findings);
  return [
    ...when(
      taken(findings, 'stream') && found(findings, 'stream_usage', 'refused', 'broken', 'ignored'),
      'stream_usage',
      { includeUsage: false },
    ),
    ...when(found(findings, 'stream_usage', 'works'), 'stream_usage', { includeUsage: true }),
    ...when(form?.content === '', 'tool_result_empty', { emptyAssistantContent: 'empty' }),
    ...when(form?.nineCharacterIds === true, 'tool_result_ids', { nineCharacterIds: true }),
    ...when(form?.signature === true, 'tool_result_signed', { geminiSignatures: true }),
    ...when(refused('two_users'), 'two_users', { alternateRoles: true }),
    ...when(refused('assistant_first'), 'assistant_first', { alternateRoles: true }),
    ...(refused('user_after_tool') ? [afterToolEvidence] : []),
    ...when(refused('two_calls'), 'two_calls', { singleCalls: true }),
    ...when(refused('calls_without_tools') && taken(findings, 'user_after_tool'), 'calls_without_tools', {
      stubTools: true,
    }),
    ...when(refused('developer'), 'developer', { developerRole: 'system' }),
    ...when(refused('no_user'), 'no_user', { needsUser: true }),
    ...(refused('assistant_alone') ? [aloneEvidence] : []),
    ...when(refused('text_parts'), 'text_parts', { arrayContent: false }),
    ...systemEvidence(findings),
  ];
}

const afterToolEvidence: Evidence = {
  from: 'user_after_tool',
  // Alternation repairs this as well.
  fits: ({ assistantAfterTool, alternateRoles }) => assistantAfterTool || alternateRoles,
  change: () => ({ assistantAfterTool: true }),
};

const aloneEvidence: Evidence = {
  from: 'assistant_alone',
  // Alternation puts a user in front of an assistant.
  fits: ({ needsUser, alternateRoles }) => needsUser || alternateRoles,
  change: () => ({ needsUser: true }),
};

function systemEvidence(findings: Findings): Evidence[] {
  if (found(findings, 'system_later', 'refused', 'broken'))
    return [equal('system_later', { systemMessages: 'leading_only' })];
  if (!found(findings, 'two_systems', 'refused', 'broken')) return [];
  return [
    {
      from: 'two_systems',
      fits: ({ systemMessages }) => systemMessages !== 'anywhere',
      change: () => ({ systemMessages: 'merge_leading' }),
    },
  ];
}

function toolEvidence(findings: Findings): Evidence[] {
  const refused = (name: string) => found(findings, name, 'refused', 'broken');
  if (refused('tool_call') && refused('tool_stream')) return [equal('tool_call', { tools: false })];
  const strictMatters = factOf(findings, 'badArguments') === true && taken(findings, 'tool_strict');
  return [
    ...when(taken(findings, 'tools_no_effort'), 'tools, tools_no_effort', { effortWithTools: 'none' }),
    // A server that takes tools, whatever the profile says.
    ...when(taken(findings, 'tool_call'), 'tool_call', { tools: true }),
    ...when(refused('tool_strict') && !refused('tool_call'), 'tool_strict', { strict: false }),
    ...when(refused('parallel_off') && !refused('tool_call'), 'parallel_off', { parallelToolCalls: false }),
    ...(refused('tool_custom') ? [customEvidence(strictMatters)] : []),
    ...toolChoiceEvidence(findings),
  ];
}

function customEvidence(strictMatters: boolean): Evidence {
  return {
    from: strictMatters ? 'tool_custom, tool_required' : 'tool_custom',
    fits: ({ customTools }) => (strictMatters ? customTools === 'wrapped_strict' : customTools !== 'native'),
    change: () => ({ customTools: strictMatters ? 'wrapped_strict' : 'wrapped' }),
  };
}

/** Each part of the flag counts only where its probe showed something. */
function toolChoiceEvidence(findings: Findings): Evidence[] {
  // Where the model never calls, that it does not call by a choice says nothing of the field.
  const calls = found(findings, 'tool_call', 'works') || found(findings, 'tool_required', 'works');
  const lacks = (name: string) =>
    found(findings, name, 'refused', 'broken') || (calls && found(findings, name, 'ignored'));
  const works = (name: string) => found(findings, name, 'works');
  const known: Partial<{ -readonly [Part in keyof ToolChoiceSupport]: ToolChoiceSupport[Part] }> = {};
  if (works('tool_required')) known.required = 'required';
  else if (works('tool_any')) known.required = 'any';
  else if (lacks('tool_required')) known.required = null;
  if (works('tool_named')) known.named = true;
  else if (lacks('tool_named')) known.named = false;
  if (works('tool_allowed')) known.allowed = true;
  else if (lacks('tool_allowed')) known.allowed = false;
  if (found(findings, 'tool_none', 'refused', 'broken') && known.required === null) known.sent = false;
  if (Object.keys(known).length === 0) return [];
  const parts = Object.keys(known) as (keyof ToolChoiceSupport)[];
  // A profile that does not send the field relies on none of its values.
  const fits = (choice: ToolChoiceSupport) =>
    !choice.sent
      ? known.required === null && known.named !== true
      : parts.every((part) => choice[part] === known[part]);
  return [
    {
      from: 'tool_required, tool_named, tool_allowed, tool_none',
      fits: ({ toolChoice }) => fits(toolChoice),
      change: ({ toolChoice }) => ({
        toolChoice: { ...toolChoice, sent: known.sent ?? true, ...known },
      }),
    },
  ];
}

function fieldEvidence(findings: Findings): Evidence[] {
  const lost = (['presence_penalty', 'frequency_penalty', 'logprobs', 'stop'] as const).filter((name) =>
    found(findings, name, 'refused', 'broken', 'ignored'),
  );
  const kept = (['logprobs', 'stop'] as const).filter((name) => found(findings, name, 'works'));
  return [
    {
      from: [...lost, ...kept].join(', '),
      fits: ({ refusedFields }) =>
        lost.every((name) => refusedFields.includes(name)) && !kept.some((name) => refusedFields.includes(name)),
      change: ({ refusedFields }) => ({
        refusedFields: [...new Set([...refusedFields, ...lost])].filter(
          (name) => !kept.some((other) => other === name),
        ),
      }),
    },
    ...when(found(findings, 'image', 'works'), 'image', { image: true }),
    ...when(found(findings, 'image', 'ignored'), 'image', { image: false }),
    // What takes no picture takes no moving ones: a video is not asked for.
    ...when(found(findings, 'image', 'refused', 'broken'), 'image', { image: false, video: false }),
    ...when(found(findings, 'audio', 'refused', 'broken'), 'audio', { audio: false }),
    ...schemaEvidence(findings),
  ];
}

function schemaEvidence(findings: Findings): Evidence[] {
  if (found(findings, 'json_schema', 'works')) return [equal('json_schema', { jsonSchema: 'native' })];
  if (!found(findings, 'json_schema', 'refused', 'ignored', 'broken')) return [];
  const fallback = found(findings, 'json_object', 'works') ? 'json_object' : 'prompt';
  return [equal('json_schema, json_object', { jsonSchema: fallback })];
}

/** What is sent in place of each effort must be an effort that is taken. */
function effortEvidence(findings: Findings, model: string): Evidence[] {
  const known = efforts.filter((effort) => found(findings, `effort_${effort}`, 'works', 'accepted', 'ignored'));
  const refused = efforts.filter((effort) => found(findings, `effort_${effort}`, 'refused', 'broken'));
  if (refused.length === 0) return [];
  const from = refused.map((effort) => `effort_${effort}`).join(', ');
  if (known.length === 0)
    return [
      {
        from,
        fits: ({ reasoningEffort }) => reasoningEffort !== 'reasoning_effort',
        change: () => ({ reasoningEffort: 'none' }),
      },
    ];
  const replacements = Object.fromEntries(refused.map((effort) => [effort, nearest(effort, known)]));
  return [
    {
      from,
      fits: (flags) =>
        flags.reasoningEffort !== 'reasoning_effort' ||
        refused.every((effort) => known.some((other) => other === replacedBy(flags, effort, model))),
      change: () => ({ effortRules: [{ models: /./, efforts: replacements }] }),
    },
  ];
}

function replacedBy({ effortRules }: ProfileFlags, effort: string, model: string): string | undefined {
  return effortRules.find(({ models }) => models.test(model))?.efforts[effort];
}

/** The closest effort that is taken, the greater of two; not thinking at all stands in for the least only. */
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

function reasoningEvidence(findings: Findings): Evidence[] {
  const tags = factOf(findings, 'tags');
  const split = found(findings, 'reasoning_split', 'works');
  const parsed = found(findings, 'reasoning_format', 'works');
  const sent = split ? { reasoning_split: true } : parsed ? { reasoning_format: 'parsed' } : null;
  return [
    ...(sent === null ? [] : [defaultEvidence(split ? 'reasoning_split' : 'reasoning_format', sent)]),
    ...(sent === null && tags !== undefined ? [tagEvidence(tags === 'closing')] : []),
    ...when(factOf(findings, 'reasoningExtra') === true, 'reasoning', { reasoningTokensExtra: true }),
    ...replayEvidence(findings),
  ];
}

function defaultEvidence(from: string, fields: Readonly<Record<string, string | boolean>>): Evidence {
  return {
    from,
    fits: ({ defaults }) => Object.entries(fields).every(([name, value]) => defaults[name] === value),
    change: ({ defaults }) => ({ defaults: { ...defaults, ...fields } }),
  };
}

function tagEvidence(implicit: boolean): Evidence {
  return {
    from: 'reasoning',
    fits: ({ thinkTags, implicitThink }) => thinkTags !== 'off' && implicitThink === implicit,
    change: ({ thinkTags }) => ({ thinkTags: thinkTags === 'off' ? 'auto' : thinkTags, implicitThink: implicit }),
  };
}

function replayEvidence(findings: Findings): Evidence[] {
  const read = factOf(findings, 'replayRead') ?? [];
  const refused = factOf(findings, 'replayRefused') ?? [];
  const [first] = replayFields.filter((field) => read.includes(field));
  if (first !== undefined) {
    const fitting: readonly string[] = [...read, ...(refused.length === 0 ? ['both'] : [])];
    return [
      {
        from: 'reasoning_replay',
        fits: ({ reasoningReplay }) => fitting.includes(reasoningReplay),
        change: () => ({ reasoningReplay: first }),
      },
    ];
  }
  if (refused.length === 0) return [];
  const refuses = (flag: string) => refused.includes(flag) || flag === 'both';
  return [
    {
      from: 'reasoning_replay',
      fits: ({ reasoningReplay }) => !refuses(reasoningReplay),
      change: () => ({ reasoningReplay: 'none' }),
    },
  ];
}

/** The evidence with which a profile does not agree. */
export function conflictsOf(evidence: readonly Evidence[], flags: ProfileFlags): Evidence[] {
  return evidence.filter(({ fits }) => !fits(flags));
}
