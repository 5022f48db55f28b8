import { type RetainedBytes, RetainedList } from '../../memory/retained-bytes.ts';
import type { LooseReasoningDetail } from '../../schema/chat-completion.ts';
import type { ExtraContent } from '../../schema/chat-request.ts';
import { joinExtraContent } from '../chat/call-entries.ts';
import { mergeReasoningDetails } from '../chat/reasoning-source.ts';
import type { ResponseContext } from '../context.ts';
import { carriedDetails, type ReasoningExtras } from './reasoning-item.ts';

/** What one call, or the message, must have back. */
export interface CarriedExtra {
  readonly content: ExtraContent;
  /** Gives the `call_id` it belongs to, minting it if none came; `''` for the message's own. */
  readonly callId: () => string;
}

/** The object and closure of an extra, and its place in the list. */
const extraEntry = 150;

/** What goes back to the upstream in the envelope of a reasoning item, gathered until the item is closed. */
export class EnvelopeContents {
  readonly #retained: RetainedBytes;
  readonly #details: RetainedList<LooseReasoningDetail>;
  readonly #extras: CarriedExtra[] = [];
  #areDetailsWhole = false;
  #extraBytes = 0;

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

  addExtra(extra: CarriedExtra): void {
    this.#extras.push(extra);
    this.#retained.add(extraEntry);
    this.#extraBytes += extraEntry + this.#retained.addValue(extra.content);
  }

  /** Must it travel even in an item without text? */
  needsItem(context: Pick<ResponseContext, 'wantsEncryptedReasoning' | 'profile'>): boolean {
    return this.#extras.length > 0 || carriedDetails(this.#details.all(), '', context).length > 0;
  }

  /** The details with those of one index joined, and the extra contents by `call_id`. */
  extras(): ReasoningExtras {
    return {
      details: this.#areDetailsWhole ? this.#details.all() : mergeReasoningDetails(this.#details.all()),
      extraContents: this.#extraContents(),
    };
  }

  #extraContents(): ReasoningExtras['extraContents'] {
    const byCall = new Map<string, ExtraContent[]>();
    for (const { callId, content } of this.#extras) {
      const id = callId();
      const contents = byCall.get(id);
      if (contents === undefined) byCall.set(id, [content]);
      else contents.push(content);
    }
    return Object.fromEntries(Array.from(byCall, ([id, contents]) => [id, joinExtraContent(contents)]));
  }

  /** The item is closed, and its envelope written: none of this is kept any longer. */
  release(): void {
    this.#details.release();
    this.#retained.release(this.#extraBytes);
    this.#extraBytes = 0;
  }
}
