import type { LooseMessage } from '../../../wire/schema/chat-completion.ts';
import type { Annotation, Logprob } from '../../../wire/schema/response-resource.ts';
import { opaqueFieldsOf } from '../read/call-entries.ts';
import { CitationList } from '../read/citations.ts';
import type { ReasoningSource } from '../read/reasoning-source.ts';
import { AnswerLogprobs } from './answer-logprobs.ts';
import { type CarriedExtra, EnvelopeContents } from './envelope-contents.ts';
import { MessageItemWriter } from './message-item-writer.ts';
import type { WriterParts } from './output.ts';
import { ReasoningItemWriter } from './reasoning-item-writer.ts';

const noLogprobs: readonly Logprob[] = [];

/** The message or reasoning item of an answer that is open, with what belongs to it but came before it. At most one is open. */
export class CurrentItem {
  readonly #parts: WriterParts;
  current: MessageItemWriter | ReasoningItemWriter | null = null;
  hadMessage = false;
  #logprobs: AnswerLogprobs | null = null;
  /** Citations that came before any message, until one has text. */
  #earlyCitations: CitationList | null = null;
  /** Contents for the envelope of the next reasoning item. */
  #pendingEnvelope: EnvelopeContents | null = null;

  constructor(parts: WriterParts) {
    this.#parts = parts;
  }

  /** The open message; opens one if there is none. */
  message(): MessageItemWriter {
    if (this.current instanceof MessageItemWriter) return this.current;
    // Thinking without text stands before what it led to, as in a message in one piece.
    if (this.#pendingEnvelope?.hasWholeBlock) this.reasoning();
    this.close();
    this.current = new MessageItemWriter(this.#parts);
    this.hadMessage = true;
    return this.current;
  }

  /** The open reasoning item; opens one if there is none. */
  reasoning(): ReasoningItemWriter {
    if (this.current instanceof ReasoningItemWriter) return this.current;
    this.close();
    this.current = new ReasoningItemWriter(this.#parts, this.#pendingEnvelope);
    this.#pendingEnvelope = null;
    return this.current;
  }

  /** Writes text of the message, with its logprobs. */
  text(delta: string): void {
    this.message().text(delta, this.logprobsOf(delta));
  }

  /** Writes text of the message, and the citations that came before it. */
  beginText(delta: string): void {
    this.text(delta);
    if (this.#earlyCitations === null) return;
    this.#earlyCitations.discard();
    this.message().cite(this.#earlyCitations.all);
    this.#earlyCitations = null;
  }

  /** Writes citations: held back before any message, dropped after it, since a finished item does not change. */
  cite(citations: readonly Annotation[]): void {
    if (citations.length === 0) return;
    if (this.current instanceof MessageItemWriter) this.current.cite(citations);
    else if (!this.hadMessage) {
      this.#earlyCitations ??= new CitationList(this.#parts.log.held);
      this.#earlyCitations.add(citations);
    }
  }

  /** Keeps logprobs until their text comes. */
  pushLogprobs(logprobs: readonly Logprob[]): void {
    if (logprobs.length === 0) return;
    this.#logprobs ??= new AnswerLogprobs(this.#parts.log.held);
    this.#logprobs.push(logprobs);
  }

  /** Takes the logprobs of that text. */
  logprobsOf(text: string): readonly Logprob[] {
    return this.#logprobs?.take(text) ?? noLogprobs;
  }

  /** Carries details and thinking blocks in the envelope; of a whole message, in place of what its deltas had. */
  carry(reasoning: ReasoningSource, isWhole: boolean): void {
    if (reasoning.details.length === 0 && reasoning.blocks.length === 0) return;
    if (isWhole) this.#envelope().setWhole(reasoning);
    else this.#envelope().add(reasoning);
  }

  carryExtras(extras: readonly CarriedExtra[]): void {
    for (const extra of extras) this.#envelope().addExtra(extra);
  }

  /** Carries the fields that belong to the message itself. */
  carryOwn({ extra_content }: LooseMessage): void {
    const fields = opaqueFieldsOf({ extra_content });
    if (fields !== null) this.#envelope().addExtra({ fields, callId: () => '' });
  }

  /** Opens an item for the envelope, even without text: what must go back to the upstream travels in it. */
  carryEnvelope(): void {
    if (this.#pendingEnvelope?.needsItem()) this.reasoning();
  }

  close(): void {
    if (this.current !== null) this.#parts.output.close(this.current.outputIndex);
    this.current = null;
  }

  /** Returns the envelope of the open reasoning item, or of the next one. */
  #envelope(): EnvelopeContents {
    if (this.current instanceof ReasoningItemWriter) return this.current.envelope();
    this.#pendingEnvelope ??= new EnvelopeContents(this.#parts.log.held, this.#parts.context);
    return this.#pendingEnvelope;
  }
}
