import { objectOf, objectsOf } from '../../../formats/json/loose.ts';
import type { Loose } from '../../wire/schema/chat-completion.ts';
import type { InputTransformation } from '../../wire/schema/response-resource.ts';
import type { Reading } from '../shared/dropped.ts';
import { unpackOpaqueFields } from '../shared/envelopes.ts';
import type { InputItem, InputReasoning } from '../shared/parsed.ts';
import { isSummary, type TranslationSettings } from '../shared/settings.ts';

/** Earlier reasoning, as it can be given back to the upstream. */
export type EarlierReasoning = Readonly<ReturnType<typeof earlierReasoningOf>>;

/** A reasoning item with the contents of its `encrypted_content`, if that was made here. */
export function earlierReasoningOf(
  { text, summaries, envelope }: InputReasoning,
  { profile, reasoningEvents }: TranslationSettings,
) {
  const ours = envelope !== null && envelope.p === profile.name; // never replayed to another provider
  // The summary of an item that was made here is the upstream's own text; other servers' summaries only paraphrase theirs.
  const ownSummaries = envelope !== null || isSummary(reasoningEvents) ? summaries : [];
  const whole = text || envelope?.t || ownSummaries.join('\n\n');
  return {
    text: whole,
    /** OpenRouter's `reasoning_details`, when they came from this profile's upstream. */
    details: ours ? withText(envelope.d ?? [], 'text', whole) : [],
    /** Signed `thinking_blocks`, when they came from this profile's upstream. */
    blocks: ours ? withText(objectsOf(envelope.b), 'thinking', whole) : [],
    /** Fields that calls, and the message (`''`), must get back, by call id, when they came from this profile's upstream. */
    fields: ours ? unpackOpaqueFields(envelope) : {},
  };
}

/**
 * The entries, with the item's text in the first whose own was left out for it. Others without a text are left out: a signature
 * alone would be refused, and a client can write thousands of them.
 */
function withText(entries: readonly unknown[], key: 'text' | 'thinking', text: string): readonly unknown[] {
  let rest = text;
  return entries.flatMap((entry): unknown[] => {
    const object = objectOf<Loose<'text' | 'thinking'>>(entry);
    if (object?.[key] !== null) return [entry];
    const own = rest;
    rest = '';
    return own === '' ? [] : [{ ...object, [key]: own }];
  });
}

/**
 * Leaves out the reasoning that the model must not see: with `reasoning.context: "current_turn"` what is older than the
 * user's last message. Reasoning that another server encrypted, which cannot be read here, is named too. `dropped` receives
 * what is left out. Gives the items for the model, and the rest in the API's own words for it.
 */
export function withholdReasoning(
  items: readonly InputItem[],
  context: string | null | undefined,
  { settings, dropped }: Reading,
): { readonly items: readonly InputItem[]; readonly withheld: readonly InputTransformation[] } {
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
    const { text, blocks } = earlierReasoningOf(item, settings);
    const isForeign = item.isForeign && text === '';
    // Signed blocks go back to any server.
    const isUnread = settings.profile.reasoningReplay === 'none' && text !== '' && blocks.length === 0;
    if (!isTooOld) given.push(item);
    if (isTooOld || isForeign || isUnread) dropped.push('input[].reasoning');
    if ((isTooOld || isForeign) && item.id !== null) {
      const reason = isTooOld ? 'turn_boundary' : 'model_mismatch';
      withheld.push({ id: item.id, type: 'reasoning', action: 'removed', reason });
    }
  }
  return { items: given, withheld };
}
