import type { LooseReasoningDetail } from '../../schema/chat-completion.ts';
import type { ItemStatus, ReasoningItem } from '../../schema/response-resource.ts';
import { objectOf } from '../chat/loose.ts';
import type { ResponseContext } from '../context.ts';
import { encodeReasoningEnvelope, type ReasoningEnvelope } from '../reasoning-envelope.ts';

/** What one reasoning item holds beside its text. */
export interface ReasoningExtras {
  /** `reasoning_details` as they go back. */
  readonly details: readonly unknown[];
  /** Gemini thought signatures by `call_id`. */
  readonly signatures: Readonly<Record<string, string>>;
}

/**
 * A finished reasoning item. Its text is in `content`, and with the `summary` carrier in `summary` too, where clients
 * look for it (decision D2). A text of `''` gives an item that only carries its envelope.
 */
export function reasoningItemOf(
  item: { readonly id: string; readonly status: ItemStatus; readonly text: string } & ReasoningExtras,
  context: ResponseContext,
): ReasoningItem {
  const { id, status, text } = item;
  const envelope = envelopeOf(text, item, context);
  return {
    id,
    type: 'reasoning',
    status,
    summary: text !== '' && context.reasoningEvents === 'summary' ? [{ type: 'summary_text', text }] : [],
    ...(text !== '' && { content: [{ type: 'reasoning_text', text }] }),
    ...(envelope !== null && { encrypted_content: encodeReasoningEnvelope(envelope) }),
  };
}

/**
 * The envelope an item needs, or null. Asked for (`include: ["reasoning.encrypted_content"]`), it holds everything. What the
 * next turn fails without goes along even unasked: Gemini's signatures, and OpenRouter's encrypted details.
 */
export function envelopeOf(
  text: string,
  { details, signatures }: ReasoningExtras,
  context: Pick<ResponseContext, 'wantsEncryptedReasoning' | 'profile'>,
): ReasoningEnvelope | null {
  const { wantsEncryptedReasoning, profile } = context;
  const hasSignatures = Object.keys(signatures).length > 0;
  const carried = carriedDetails(details, context);
  const hasDetails = carried.length > 0;
  const hasText = wantsEncryptedReasoning && text !== '';
  if (!hasText && !hasDetails && !hasSignatures) return null;
  return {
    ...(hasText && { t: text }),
    ...(hasDetails && { d: carried }),
    ...(hasSignatures && { g: signatures }),
    p: profile.name,
  };
}

/**
 * The details that go into an envelope: all of them where the client asked, else the encrypted ones, and only where they
 * would be given back. Texts can be large, and a model does without them.
 */
export function carriedDetails<Detail>(
  details: readonly Detail[],
  { wantsEncryptedReasoning, profile }: Pick<ResponseContext, 'wantsEncryptedReasoning' | 'profile'>,
): readonly Detail[] {
  if (wantsEncryptedReasoning || details.length === 0) return details;
  if (profile.reasoningReplay !== 'reasoning_details') return [];
  return details.filter((detail) => objectOf<LooseReasoningDetail>(detail)?.type === 'reasoning.encrypted');
}
