import type { ChatCompletionRequest } from '../../schema/chat-request.ts';
import type { Profile } from '../../upstream/profile.ts';
import type { Dropped } from './dropped.ts';

/**
 * `reasoning.effort` as the field the profile's server reads. A null effort sends nothing: the server's default stays.
 * `dropped` receives the field where the server has none.
 */
export function translateEffort(
  effort: string | null,
  model: string,
  profile: Profile,
  dropped: Dropped,
): Pick<ChatCompletionRequest, 'reasoning_effort' | 'reasoning' | 'thinking' | 'enable_thinking'> {
  if (effort === null) return {};
  const rule = profile.effortRules.find(({ models }) => models.test(model));
  const value = rule?.efforts[effort] ?? effort;
  switch (profile.reasoningEffort) {
    case 'reasoning_effort':
      return { reasoning_effort: value };
    case 'reasoning_object':
      return { reasoning: value === 'none' ? { enabled: false } : { effort: value, exclude: false } };
    case 'thinking_type':
      return { thinking: { type: value === 'none' ? 'disabled' : 'enabled' } };
    case 'enable_thinking':
      return { enable_thinking: value !== 'none' };
    case 'none':
      dropped.push('reasoning.effort');
      return {};
  }
}
