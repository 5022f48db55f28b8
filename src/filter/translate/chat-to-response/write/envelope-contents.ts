import { textOf } from '../../../../formats/json/loose.ts';
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

export interface CarriedExtra {
  readonly fields: OpaqueFields;
  /** Returns the `call_id` of the call, and mints it if none came; `''` for the message. */
  readonly callId: () => string;
}

/** Contents that go back to the upstream in the envelope of a reasoning item, gathered until the item is closed. */
export class EnvelopeContents {
  readonly #held: HeldBytes;
  readonly #context: Pick<ResponseContext, 'wantsEncryptedReasoning' | 'profile'>;
  readonly #details: JsonList<LooseReasoningDetail>;
  readonly #blocks: JsonList<LooseThinkingBlock>;
  #extras: CarriedExtra[] = [];
  #extraBytes = 0;
  /** Noted on arrival: the lists are read again only at the end. */
  #hasCarriedDetail = false;
  hasWholeBlock = false;
  #areWhole = false;

  constructor(held: HeldBytes, context: Pick<ResponseContext, 'wantsEncryptedReasoning' | 'profile'>) {
    this.#held = held;
    this.#context = context;
    this.#details = new JsonList(held);
    this.#blocks = new JsonList(held);
  }

  /** Adds the `reasoning_details` and `thinking_blocks` of a delta, as sent. */
  add({ details, blocks }: Omit<ReasoningSource, 'text'>): void {
    for (const detail of details) this.#details.push(detail);
    for (const block of blocks) this.#blocks.push(block);
    this.#hasCarriedDetail ||= this.#carried(details, '').length > 0;
    this.hasWholeBlock ||= blocks.some(isWholeBlock);
  }

  /** Keeps the entries of a whole message, in place of those of its deltas: they go back as they are. */
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

  /** Must the envelope be sent even in an item without text? */
  needsItem(): boolean {
    return this.#extras.length > 0 || this.hasWholeBlock || this.#hasCarriedDetail;
  }

  /**
   * Takes the envelope of an item of that text, and frees the contents; null where the item needs none. An envelope that was asked for
   * (`include: ["reasoning.encrypted_content"]`) holds everything. What the next request fails without is in it even if not asked
   * for: signatures of calls, signed thinking, and OpenRouter's encrypted details.
   */
  take(text: string): ReasoningEnvelope | null {
    const { wantsEncryptedReasoning, profile } = this.#context;
    const [details, blocks] = [this.#details.all(), this.#blocks.all()];
    const carried = this.#carried(this.#areWhole ? details : mergeReasoningDetails(details), text);
    // The text of a block is null where it is the item's.
    const signed = (this.#areWhole ? blocks : mergeThinkingBlocks(blocks))
      .filter(isWholeBlock)
      .map((block) => (text !== '' && block.thinking === text ? { ...block, thinking: null } : block));
    const fields = this.#fieldsByCall();
    const hasFields = Object.keys(fields).length > 0;
    const hasText = wantsEncryptedReasoning && text !== '';
    this.#free();
    if (!hasText && carried.length === 0 && signed.length === 0 && !hasFields) return null;
    return {
      ...(hasText && { t: text }),
      ...(carried.length > 0 && { d: carried }),
      ...(signed.length > 0 && { b: signed }),
      ...(hasFields && packOpaqueFields(fields)),
      p: profile.name,
    };
  }

  /** All details where the client asked for them, else those that the server needs back. A text that the item has already becomes null. */
  #carried(details: readonly LooseReasoningDetail[], text: string): readonly LooseReasoningDetail[] {
    const { wantsEncryptedReasoning, profile } = this.#context;
    if (wantsEncryptedReasoning || details.length === 0) return details;
    if (profile.reasoningReplay !== 'reasoning_details') return [];
    const isEncrypted = ({ type }: LooseReasoningDetail) => type === 'reasoning.encrypted';
    const kept = details.filter((detail) => isEncrypted(detail) || textOf(detail.signature) !== '');
    return kept.map((detail) => (isEncrypted(detail) || detail.text !== text ? detail : { ...detail, text: null }));
  }

  #fieldsByCall(): Readonly<Record<string, OpaqueFields>> {
    const byCall = new Map<string, OpaqueFields[]>();
    for (const { callId, fields } of this.#extras) {
      const id = callId();
      const pieces = byCall.get(id);
      if (pieces === undefined) byCall.set(id, [fields]);
      else pieces.push(fields);
    }
    return Object.fromEntries(Array.from(byCall, ([id, pieces]) => [id, joinOpaqueFields(pieces)]));
  }

  #free(): void {
    this.#details.clear();
    this.#blocks.clear();
    this.#extras = [];
    this.#held.bytes -= this.#extraBytes;
    this.#extraBytes = 0;
  }
}
