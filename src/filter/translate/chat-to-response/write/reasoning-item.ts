import { objectOf, textOf } from '../../../../formats/json/loose.ts';
import type { LooseReasoningDetail, LooseThinkingBlock } from '../../../wire/schema/chat-completion.ts';
import type { OpaqueFields } from '../../../wire/schema/chat-request.ts';
import type { ItemStatus, ReasoningItem } from '../../../wire/schema/response-resource.ts';
import type { ResponseContext } from '../../shared/context.ts';
import { encodeReasoningEnvelope, packOpaqueFields, type ReasoningEnvelope } from '../../shared/reasoning-envelope.ts';
import { isSummary } from '../../shared/settings.ts';
import { isWholeBlock } from '../read/reasoning-source.ts';

export interface ReasoningExtras {
  readonly details: readonly unknown[];
  readonly blocks: readonly LooseThinkingBlock[];
  /** Fields that calls, and the message (`''`), must have back, by `call_id`. */
  readonly fields: Readonly<Record<string, OpaqueFields>>;
}

/** A finished reasoning item (choice D2). One with a text of `''` only carries its envelope. */
export function reasoningItemOf(
  item: { readonly id: string; readonly status: ItemStatus; readonly text: string } & ReasoningExtras,
  context: ResponseContext,
): ReasoningItem {
  const { id, status, text } = item;
  const carrier = context.reasoningEvents;
  const envelope = envelopeOf(text, item, context);
  return {
    id,
    type: 'reasoning',
    status,
    summary: text !== '' && isSummary(carrier) ? [{ type: 'summary_text', text }] : [],
    // OpenAI's items have no `content`, and some clients show both texts, or the second in place of the answer (BAML).
    ...(text !== '' && carrier !== 'summary' && { content: [{ type: 'reasoning_text', text }] }),
    ...(envelope !== null && { encrypted_content: encodeReasoningEnvelope(envelope) }),
  };
}

/**
 * The envelope an item needs, or null. Asked for (`include: ["reasoning.encrypted_content"]`), it holds everything. What
 * the next turn fails without is included even if not asked for: signatures of calls, signed thinking, and OpenRouter's
 * encrypted details.
 */
export function envelopeOf(
  text: string,
  { details, blocks, fields }: ReasoningExtras,
  context: Pick<ResponseContext, 'wantsEncryptedReasoning' | 'profile'>,
): ReasoningEnvelope | null {
  const { wantsEncryptedReasoning, profile } = context;
  const hasFields = Object.keys(fields).length > 0;
  const carried = carriedDetails(details, text, context);
  const hasDetails = carried.length > 0;
  // Those a server takes back; the text of one is null where it is the item's.
  const signed = blocks
    .filter(isWholeBlock)
    .map((block) => (text !== '' && block.thinking === text ? { ...block, thinking: null } : block));
  const hasText = wantsEncryptedReasoning && text !== '';
  if (!hasText && !hasDetails && signed.length === 0 && !hasFields) return null;
  return {
    ...(hasText && { t: text }),
    ...(hasDetails && { d: carried }),
    ...(signed.length > 0 && { b: signed }),
    ...(hasFields && packOpaqueFields(fields)),
    p: profile.name,
  };
}

/**
 * The details that go into an envelope: all of them where the client asked, else the encrypted and the signed ones, and only
 * where they would be given back. The text of a signed one can be large and is in the item already, so it is null where
 * it is the item's `text`.
 */
export function carriedDetails(
  details: readonly unknown[],
  text: string,
  { wantsEncryptedReasoning, profile }: Pick<ResponseContext, 'wantsEncryptedReasoning' | 'profile'>,
): readonly unknown[] {
  if (wantsEncryptedReasoning || details.length === 0) return details;
  if (profile.reasoningReplay !== 'reasoning_details') return [];
  return details.flatMap((value): unknown[] => {
    const detail = objectOf<LooseReasoningDetail>(value);
    if (detail?.type === 'reasoning.encrypted') return [detail];
    if (detail === null || textOf(detail.signature) === '') return [];
    if (detail.text !== text) return [detail];
    return [{ ...detail, text: null }];
  });
}
