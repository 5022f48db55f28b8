import type { Profile } from '../../upstream/profile.ts';
import type { ChatCompletionRequest } from '../../wire/schema/chat-request.ts';
import type { Dropped } from './dropped.ts';

/**
 * `reasoning.effort` as the field the profile's server reads. A null effort sends nothing, and the server's default
 * applies, unless the request `hasTools` and the profile has an effort for that. `dropped` receives `reasoning.effort`
 * where the server has no such field, and `reasoning.effort.max` (say) where it gets another value or only a switch.
 */
export function translateEffort(
  asked: string | null,
  { model, hasTools }: { readonly model: string; readonly hasTools: boolean },
  profile: Profile,
  dropped: Dropped,
): Pick<ChatCompletionRequest, 'reasoning_effort' | 'reasoning' | 'thinking' | 'enable_thinking'> {
  const fixed = hasTools ? profile.effortWithTools : null;
  const effort = asked ?? fixed;
  if (effort === null) return {};
  const rule = profile.effortRules.find(({ models }) => models.test(model));
  const value = fixed ?? rule?.efforts[effort] ?? effort;
  if (profile.reasoningEffort === 'none') {
    dropped.push('reasoning.effort');
    return {};
  }
  const isSwitch = profile.reasoningEffort === 'thinking_type' || profile.reasoningEffort === 'enable_thinking';
  if (value !== effort || (isSwitch && effort !== 'none')) dropped.push(`reasoning.effort.${effort}`);
  switch (profile.reasoningEffort) {
    case 'reasoning_effort':
      return { reasoning_effort: value };
    case 'reasoning_object':
      return { reasoning: value === 'none' ? { enabled: false } : { effort: value, exclude: false } };
    case 'thinking_type':
      return { thinking: { type: value === 'none' ? 'disabled' : 'enabled' } };
    case 'thinking_and_effort':
      if (value === 'none') return { thinking: { type: 'disabled' } };
      return { thinking: { type: 'enabled' }, reasoning_effort: value };
    case 'enable_thinking':
      return { enable_thinking: value !== 'none' };
  }
}
