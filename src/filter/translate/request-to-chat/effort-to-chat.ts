import type { Profile } from '../../upstream/profile.ts';
import type { ChatCompletionRequest } from '../../wire/schema/chat-request.ts';
import type { Reading } from '../shared/dropped.ts';

/**
 * `reasoning.effort` as the field that the profile's server reads. A null effort sends nothing, unless the profile has an effort for
 * requests with such `tools`. Where the server has no such field, `reasoning.effort` is dropped and listed; where it gets another value,
 * or only a switch, `reasoning.effort.max`, say.
 */
export function translateEffort(
  asked: string | null,
  { model, tools }: { readonly model: string; readonly tools: 'none' | 'offered' | 'required' },
  { settings: { profile }, dropped }: Reading,
): Pick<ChatCompletionRequest, 'reasoning_effort' | 'reasoning' | 'thinking' | 'enable_thinking'> {
  const { effortWithTools: rule } = profile;
  const isFixed = rule !== null && (tools === rule.when || tools === 'required');
  const fixed = isFixed ? rule.effort : null;
  const effort = asked ?? fixed;
  if (effort === null) return profile.reasoningEffort === 'thinking_keep' ? keptThinking : {};
  const levels = profile.effortRules.find(({ models }) => models.test(model));
  const value = fixed ?? levels?.efforts[effort] ?? effort;
  if (profile.reasoningEffort === 'none') {
    dropped.push('reasoning.effort');
    return {};
  }
  if (value !== effort || (!leveled.has(profile.reasoningEffort) && effort !== 'none'))
    dropped.push(`reasoning.effort.${effort}`);
  switch (profile.reasoningEffort) {
    case 'reasoning_effort':
      return { reasoning_effort: value };
    case 'reasoning_object':
      return { reasoning: value === 'none' ? { enabled: false } : { effort: value, exclude: false } };
    case 'thinking_type':
      return { thinking: { type: value === 'none' ? 'disabled' : 'enabled' } };
    case 'thinking_keep':
      return value === 'none' ? { thinking: { type: 'disabled' } } : keptThinking;
    case 'thinking_and_effort':
      if (value === 'none') return { thinking: { type: 'disabled' } };
      return { thinking: { type: 'enabled' }, reasoning_effort: value };
    case 'enable_thinking':
      return { enable_thinking: value !== 'none' };
  }
}

const keptThinking = { thinking: { type: 'enabled', keep: 'all' } } as const;

/** The fields that take a level. The other fields are switches. */
export const leveled: ReadonlySet<Profile['reasoningEffort']> = new Set([
  'reasoning_effort',
  'reasoning_object',
  'thinking_and_effort',
]);
