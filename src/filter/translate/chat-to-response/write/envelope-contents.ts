import { objectOf, textOf } from '../../../../formats/json/loose.ts';
import type { LooseReasoningDetail, LooseThinkingBlock } from '../../../wire/schema/chat-completion.ts';
import type { OpaqueFields } from '../../../wire/schema/chat-request.ts';
import type { ResponseContext } from '../../shared/context.ts';
import { packOpaqueFields, type ReasoningEnvelope } from '../../shared/envelopes.ts';
import { bytesOfValue, type HeldBytes, JsonList } from '../../shared/held-bytes.ts';
import { joinOpaqueFields } from '../read/call-entries.ts';
import {
  isWholeBlock,
  mergeReasoningDetails,
  mergeThinkingBlocks,
  type ReasoningSource,
} from '../read/reasoning-source.ts';

export interface ReasoningExtras {
  readonly details: readonly unknown[];
  readonly blocks: readonly LooseThinkingBlock[];
  /** Fields that calls, and the message (`''`), must have back, by `call_id`. */
  readonly fields: Readonly<Record<string, OpaqueFields>>;
}

export const noExtras: ReasoningExtras = { details: [], blocks: [], fields: {} };

/** Fields that one call, or the message, must have back. */
export interface CarriedExtra {
  readonly fields: OpaqueFields;
  /** Gives the `call_id` it belongs to, minting it if none came; `''` for the message's own. */
  readonly callId: () => string;
}

/** Contents that go back to the upstream in the envelope of a reasoning item, gathered until the item is closed. */
export class EnvelopeContents {
  readonly #held: HeldBytes;
  readonly #details: JsonList<LooseReasoningDetail>;
  readonly #extras: CarriedExtra[] = [];
  readonly #blocks: JsonList<LooseThinkingBlock>;
  readonly #context: Pick<ResponseContext, 'wantsEncryptedReasoning' | 'profile'>;
  /** Whether a listed detail is carried, noted on arrival: the lists are read again only at the end. */
  #hasCarriedDetail = false;
  /** There is a thinking block that a server takes back. */
  hasWholeBlock = false;
  #areWhole = false;
  #extraBytes = 0;

  constructor(held: HeldBytes, context: Pick<ResponseContext, 'wantsEncryptedReasoning' | 'profile'>) {
    this.#held = held;
    this.#context = context;
    this.#details = new JsonList(held);
    this.#blocks = new JsonList(held);
  }

  /** `reasoning_details` and `thinking_blocks` entries of a delta, as sent. */
  add({ details, blocks }: Omit<ReasoningSource, 'text'>): void {
    for (const detail of details) this.#details.push(detail);
    for (const block of blocks) this.#blocks.push(block);
    this.#hasCarriedDetail ||= carriedDetails(details, '', this.#context).length > 0;
    this.hasWholeBlock ||= blocks.some(isWholeBlock);
  }

  /** All of them, of a whole message, in place of what its deltas had: they go back as they are. */
  setWhole(entries: Omit<ReasoningSource, 'text'>): void {
    this.#areWhole = true;
    this.#details.clear();
    this.#blocks.clear();
    this.add(entries);
  }

  addExtra(extra: CarriedExtra): void {
    this.#extras.push(extra);
    this.#extraBytes += this.#held.add('extra', bytesOfValue(extra.fields));
  }

  /** Must it be sent even in an item without text? */
  needsItem(): boolean {
    return this.#extras.length > 0 || this.hasWholeBlock || this.#hasCarriedDetail;
  }

  /** The details and the blocks with the pieces of one joined, and the fields of calls by `call_id`. */
  extras(): ReasoningExtras {
    return {
      details: this.#areWhole ? this.#details.all() : mergeReasoningDetails(this.#details.all()),
      blocks: this.#areWhole ? this.#blocks.all() : mergeThinkingBlocks(this.#blocks.all()),
      fields: this.#fields(),
    };
  }

  #fields(): ReasoningExtras['fields'] {
    const byCall = new Map<string, OpaqueFields[]>();
    for (const { callId, fields } of this.#extras) {
      const id = callId();
      const pieces = byCall.get(id);
      if (pieces === undefined) byCall.set(id, [fields]);
      else pieces.push(fields);
    }
    return Object.fromEntries(Array.from(byCall, ([id, pieces]) => [id, joinOpaqueFields(pieces)]));
  }

  /** The item is closed and its envelope written: frees all this. */
  clear(): void {
    this.#details.clear();
    this.#blocks.clear();
    this.#held.bytes -= this.#extraBytes;
    this.#extraBytes = 0;
  }
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
function carriedDetails(
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
