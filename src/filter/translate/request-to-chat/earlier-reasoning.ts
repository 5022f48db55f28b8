import { objectOf, objectsOf } from '../../../formats/json/loose.ts';
import type { Loose } from '../../wire/schema/chat-completion.ts';
import type { InputTransformation } from '../../wire/schema/response-resource.ts';
import type { Reading } from '../shared/dropped.ts';
import { unpackOpaqueFields } from '../shared/envelopes.ts';
import type { InputItem, InputReasoning } from '../shared/parsed.ts';
import { isSummary, type TranslationSettings } from '../shared/settings.ts';

/** Earlier reasoning in the form in which the upstream can get it back. */
export type EarlierReasoning = Readonly<ReturnType<typeof readEarlierReasoning>>;

export function readEarlierReasoning(
  { text, summaries, envelope }: InputReasoning,
  { profile, reasoningEvents }: TranslationSettings,
) {
  const ours = envelope !== null && envelope.p === profile.name; // never replayed to another provider
  // The summary of an item that was made here is the upstream's own text; other servers' summaries only paraphrase theirs.
  const ownSummaries = envelope !== null || isSummary(reasoningEvents) ? summaries : [];
  const whole = text || envelope?.t || ownSummaries.join('\n\n');
  return {
    text: whole,
    // The profile's upstream gets back what it sent: OpenRouter's `reasoning_details`, and Anthropic's signed `thinking_blocks`.
    details: ours ? withText(envelope.d ?? [], 'text', whole) : [],
    blocks: ours ? withText(objectsOf(envelope.b), 'thinking', whole) : [],
    // Fields by the id of the call that had them; `''` stands for the message.
    fields: ours ? unpackOpaqueFields(envelope) : {},
  };
}

/**
 * The entries, with the item's text in the first entry whose own text was left out for it. Other entries without a text are left out: a
 * signature alone would be refused, and a client can write thousands of them.
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
 * Leaves out the reasoning that the model must not see: with `reasoning.context: "current_turn"`, what is older than the user's last
 * message; and what another server encrypted. `withheld` describes the items left out in the API's own words.
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
    const { text, blocks } = readEarlierReasoning(item, settings);
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
