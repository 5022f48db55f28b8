import type { Profile } from '../../upstream/profile.ts';

/**
 * `reasoning.effort` as the field the profile's server reads. A null effort sends nothing: the server's default stays.
 * `dropped` receives the field where the server has none.
 */
export function translateEffort(
  effort: string | null,
  model: string,
  profile: Profile,
  dropped: string[],
): Readonly<Record<string, unknown>> {
  if (effort === null) return {};
  const rule = profile.effortRules.find(({ models }) => models.test(model));
  const word = rule?.efforts[effort] ?? effort;
  switch (profile.reasoningEffort) {
    case 'reasoning_effort':
      return { reasoning_effort: word };
    case 'reasoning_object':
      return { reasoning: word === 'none' ? { enabled: false } : { effort: word, exclude: false } };
    case 'thinking_type':
      return { thinking: { type: word === 'none' ? 'disabled' : 'enabled' } };
    case 'enable_thinking':
      return { enable_thinking: word !== 'none' };
    case 'none':
      dropped.push('reasoning.effort');
      return {};
  }
}
