import type { ModelRule, ProfileFlags, ToolChoiceSupport } from '../profile.ts';
import { effortTable } from './effort-table.ts';

/** Rows that several servers share: values of flags, with the reasons where these are the same too. */

const namedChoice: ToolChoiceSupport = { sent: true, required: 'required', named: true, allowed: false };
export const fullChoice: ToolChoiceSupport = { ...namedChoice, allowed: true };
export const modeChoice: ToolChoiceSupport = { ...namedChoice, named: false };
export const mistralChoice: ToolChoiceSupport = { ...modeChoice, required: 'any' };
export const dashscopeChoice: ToolChoiceSupport = { ...namedChoice, required: null };
export const ignoredChoice: ToolChoiceSupport = { sent: false, required: null, named: false, allowed: false };

export const threeEfforts = { minimal: 'low', xhigh: 'high', max: 'high' };
export const gptOssEfforts = { ...threeEfforts, none: 'low' };

/** Claude, behind any API: gateways pass call ids and schemas on to Anthropic’s. */
export const claudeRule: ModelRule = {
  match: /claude/i,
  reason:
    "“tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'” (bifrost#5097); “`tool_use` ids must be unique” (opencode#1279); “input_schema does not support oneOf, allOf, or anyOf at the top level” (opencode#35516).",
  flags: { callIdForm: 'word_64', toolSchemaRoot: 'plain_object' },
};

export const voxtralRule: ModelRule = {
  match: /voxtral/i,
  reason: '`input_audio` gets a 200 (observed).',
  flags: { audio: true },
};

type Cell<Name extends keyof ProfileFlags> = readonly [value: ProfileFlags[Name], reason: string];

export const newerLimit: Cell<'maxTokensField'> = ['max_completion_tokens', 'The newer name of the limit.'];
export const noSound: Cell<'audio'> = [false, 'Its messages cannot carry audio.'];
export const noNull: Cell<'emptyAssistantContent'> = ['empty', 'It requires text, even if empty.'];
export const readsReasoningContent: Cell<'reasoningReplay'> = [
  'reasoning_content',
  'Reads earlier reasoning from this field.',
];

/** The efforts of the models that the table knows, then these rules for others; `reason` is of these. */
export function tabledEfforts(
  server: keyof typeof effortTable,
  others: ProfileFlags['effortRules'],
  reason: string,
): Cell<'effortRules'> {
  const tabled = effortTable[server].map(([names, efforts]) => ({ models: modelsNamed(names), efforts }));
  return [[...tabled, ...others], reason];
}

/** Models of these names, with a maker before it or not, and variants (`name-0101`, `name:free`); `name$` has none. */
export function modelsNamed(names: string): RegExp {
  const all = names.split(' ').map((name) => name.replace(/[^\w$-]/g, '\\$&'));
  const families = all.filter((name) => !name.endsWith('$'));
  const single = all.filter((name) => name.endsWith('$'));
  const ofFamilies = families.length === 0 ? [] : [`(?:${families.join('|')})(?:[-:@].*)?$`];
  return new RegExp(`(?:^|/)(?:${[...ofFamilies, ...single].join('|')})`, 'i');
}
