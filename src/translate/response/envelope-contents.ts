import type { LooseReasoningDetail } from '../../schema/chat-completion.ts';
import { mergeReasoningDetails } from '../chat/reasoning-source.ts';
import type { ResponseContext } from '../context.ts';
import { type RetainedBytes, RetainedList } from '../retained-bytes.ts';
import { carriedDetails, type ReasoningExtras } from './reasoning-item.ts';

/** A Gemini thought signature. */
export interface ThoughtSignature {
  readonly signature: string;
  /** Gives the `call_id` it belongs to, minting it if none came; `''` for the message's own. */
  readonly callId: () => string;
}

/** The object and closure of a signature, and its place in the list. */
const signatureEntry = 150;

/** What goes back to the upstream in the envelope of a reasoning item, gathered until the item is closed. */
export class EnvelopeContents {
  readonly #retained: RetainedBytes;
  readonly #details: RetainedList<LooseReasoningDetail>;
  readonly #signatures: ThoughtSignature[] = [];
  #areDetailsWhole = false;
  #signatureBytes = 0;

  constructor(retained: RetainedBytes) {
    this.#retained = retained;
    this.#details = new RetainedList(retained);
  }

  /** `reasoning_details` entries of a delta, as sent. */
  addDetails(details: readonly LooseReasoningDetail[]): void {
    for (const detail of details) this.#details.push(detail);
  }

  /** All `reasoning_details` of a message: they go back as they are. */
  addWholeDetails(details: readonly LooseReasoningDetail[]): void {
    this.#areDetailsWhole = true;
    this.addDetails(details);
  }

  addSignature(signature: ThoughtSignature): void {
    this.#signatures.push(signature);
    this.#retained.add(signatureEntry);
    this.#signatureBytes += signatureEntry + this.#retained.addValue(signature.signature);
  }

  /** Must it travel even in an item without text? */
  needsItem(context: Pick<ResponseContext, 'wantsEncryptedReasoning' | 'profile'>): boolean {
    return this.#signatures.length > 0 || carriedDetails(this.#details.all(), context).length > 0;
  }

  /** The details with those of one index joined, and the signatures by `call_id`. */
  extras(): ReasoningExtras {
    return {
      details: this.#areDetailsWhole ? this.#details.all() : mergeReasoningDetails(this.#details.all()),
      signatures: Object.fromEntries(this.#signatures.map(({ callId, signature }) => [callId(), signature])),
    };
  }

  /** The item is closed, and its envelope written: none of this is kept any longer. */
  release(): void {
    this.#details.release();
    this.#retained.release(this.#signatureBytes);
    this.#signatureBytes = 0;
  }
}
