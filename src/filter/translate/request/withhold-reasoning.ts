import type { InputTransformation } from '../../wire/schema/response-resource.ts';
import { earlierReasoningOf } from './earlier-reasoning.ts';
import type { InputItem } from './parsed.ts';
import type { Reading } from './reading.ts';

/** The items that the model is given, and the reasoning among the others in the API's own words for it. */
export interface GivenItems {
  readonly items: readonly InputItem[];
  readonly withheld: readonly InputTransformation[];
}

/**
 * Leaves out the reasoning that the model must not see: with `reasoning.context: "current_turn"` what is older than the
 * user's last message. Reasoning that another server encrypted, which cannot be read here, is named too. `dropped` receives
 * what is left out.
 */
export function withholdReasoning(
  items: readonly InputItem[],
  context: string | null | undefined,
  { settings, dropped }: Reading,
): GivenItems {
  if (!items.some(({ kind }) => kind === 'reasoning')) return { items, withheld: [] };
  const last = items.findLastIndex((item) => item.kind === 'message' && item.role === 'user');
  const start = context === 'current_turn' ? last : -1;
  const given: InputItem[] = [];
  const withheld: InputTransformation[] = [];
  for (const [index, item] of items.entries()) {
    if (item.kind !== 'reasoning') {
      given.push(item);
      continue;
    }
    const isTooOld = index < start;
    const isForeign = item.isForeign && earlierReasoningOf(item, settings).text === '';
    if (!isTooOld) given.push(item);
    if (isTooOld || isForeign) dropped.push('input[].reasoning');
    if ((isTooOld || isForeign) && item.id !== null) {
      const reason = isTooOld ? 'turn_boundary' : 'model_mismatch';
      withheld.push({ id: item.id, type: 'reasoning', action: 'removed', reason });
    }
  }
  return { items: given, withheld };
}
