import type { LooseReasoningDetail, LooseThinkingBlock } from '../../../wire/schema/chat-completion.ts';
import type { OpaqueFields } from '../../../wire/schema/chat-request.ts';
import type { ResponseContext } from '../../shared/context.ts';
import { bytesOfValue, type HeldBytes, JsonList } from '../../shared/held-bytes.ts';
import { joinOpaqueFields } from '../read/call-entries.ts';
import {
  isWholeBlock,
  mergeReasoningDetails,
  mergeThinkingBlocks,
  type ReasoningSource,
} from '../read/reasoning-source.ts';
import { carriedDetails, type ReasoningExtras } from './reasoning-item.ts';

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
