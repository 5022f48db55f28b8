import type { LooseMessage } from '../../../wire/schema/chat-completion.ts';
import type { Annotation, Logprob } from '../../../wire/schema/response-resource.ts';
import { readOpaqueFields } from '../read/call-entries.ts';
import { CitationList } from '../read/citations.ts';
import { AnswerLogprobs } from '../read/logprobs.ts';
import type { ReasoningSource } from '../read/reasoning-source.ts';
import { type CarriedExtra, EnvelopeContents } from './envelope-contents.ts';
import type { WriterParts } from './output.ts';
import { MessageItemWriter, ReasoningItemWriter } from './plain-item-writers.ts';

const noLogprobs: readonly Logprob[] = [];

/** More white space than this is text: templates write a few line feeds, and what is held back must be bounded. */
const maxLeadingSpace = 256;

/** The messages and reasoning items of an answer, with what belongs to one of them but came before it. */
export class PlainItems {
  readonly #parts: WriterParts;
  hadMessage = false;
  /** White space that is held back before any text (docs/answers.md §1.3). */
  space = '';
  #logprobs: AnswerLogprobs | null = null;
  #earlyCitations: CitationList | null = null;
  #pendingEnvelope: EnvelopeContents | null = null;

  constructor(parts: WriterParts) {
    this.#parts = parts;
  }

  open(): MessageItemWriter | ReasoningItemWriter | null {
    const last = this.#parts.output.last();
    return last instanceof MessageItemWriter || last instanceof ReasoningItemWriter ? last : null;
  }

  /** Returns the open message, or opens one. */
  message(): MessageItemWriter {
    const open = this.open();
    if (open instanceof MessageItemWriter) return open;
    // Thinking without text stands before the message that it led to, as in an answer in one piece.
    if (this.#pendingEnvelope?.hasWholeBlock) this.reasoning();
    this.close();
    this.hadMessage = true;
    return new MessageItemWriter(this.#parts);
  }

  reasoning(): ReasoningItemWriter {
    const open = this.open();
    if (open instanceof ReasoningItemWriter) return open;
    this.close();
    const envelope = this.#pendingEnvelope;
    this.#pendingEnvelope = null;
    return new ReasoningItemWriter(this.#parts, envelope);
  }

  reasoningSoFar(): string {
    const open = this.open();
    return open instanceof ReasoningItemWriter ? open.written() : '';
  }

  /** Writes text of the answer. With `isLast` no delta follows. */
  text(delta: string, isLast: boolean): void {
    const open = this.open();
    if (open instanceof MessageItemWriter) {
      const repeatsAll = isLast && this.#parts.context.profile.dedupeTail && delta === open.written();
      if (!repeatsAll) open.text(delta, this.takeLogprobs(delta));
    } else if (delta.trim() === '') {
      this.keepSpace(delta);
      if (this.space.length > maxLeadingSpace) this.writeSpace();
    } else if (this.reasoningSoFar() !== '') {
      this.#begin(withoutBlankLines(this.#takeSpace() + delta));
    } else {
      if (this.space !== '') this.#write(this.#takeSpace());
      this.#begin(delta);
    }
  }

  /** Holds back white space. After a call it is dropped, and so are blank lines after reasoning, which the template of the model wrote. */
  keepSpace(delta: string): void {
    if (this.#parts.output.calls > 0) return;
    this.space += delta;
    // A reasoning item without text does not count: a stream may send its envelope later.
    if (this.reasoningSoFar() !== '') this.space = withoutBlankLines(this.space);
  }

  writeSpace(): void {
    this.#begin(this.#takeSpace());
  }

  /** Writes citations of the open message. They are held back before any message, and dropped after it, since a closed item does not change. */
  cite(citations: readonly Annotation[]): void {
    if (citations.length === 0) return;
    const open = this.open();
    if (open instanceof MessageItemWriter) open.cite(citations);
    else if (!this.hadMessage) {
      this.#earlyCitations ??= new CitationList(this.#parts.held);
      for (const citation of citations) this.#earlyCitations.add(citation);
    }
  }

  pushLogprobs(logprobs: readonly Logprob[]): void {
    if (logprobs.length === 0) return;
    this.#logprobs ??= new AnswerLogprobs(this.#parts.held);
    this.#logprobs.push(logprobs);
  }

  takeLogprobs(text: string): readonly Logprob[] {
    return this.#logprobs?.take(text) ?? noLogprobs;
  }

  /** Puts details and thinking blocks into the envelope; those of a whole message replace what its deltas had. */
  carry(reasoning: ReasoningSource, isWhole: boolean): void {
    if (reasoning.details.length === 0 && reasoning.blocks.length === 0) return;
    if (isWhole) this.#envelope().setWhole(reasoning);
    else this.#envelope().add(reasoning);
  }

  carryExtras(extras: readonly CarriedExtra[]): void {
    for (const extra of extras) this.#envelope().addExtra(extra);
  }

  /** Puts the fields into the envelope that the message itself must have back. */
  carryOwn({ extra_content }: LooseMessage): void {
    const fields = extra_content == null ? null : readOpaqueFields({ extra_content });
    if (fields !== null) this.#envelope().addExtra({ fields, callId: () => '' });
  }

  /** Opens an item, even without text, for contents that must go back to the upstream. */
  carryEnvelope(): void {
    if (this.#pendingEnvelope?.needsItem()) this.reasoning();
  }

  /** Closes what is open before a call opens, and writes the envelope that has to go back with the call. */
  beforeCall(): void {
    const open = this.open();
    if (open instanceof MessageItemWriter) open.isCommentary = true;
    this.carryEnvelope();
    this.close();
  }

  close(): void {
    if (this.open() !== null) this.#parts.output.closeLast();
  }

  #begin(delta: string): void {
    this.#write(delta);
    if (this.#earlyCitations === null) return;
    this.#earlyCitations.discard();
    this.message().cite(this.#earlyCitations.all);
    this.#earlyCitations = null;
  }

  #write(delta: string): void {
    this.message().text(delta, this.takeLogprobs(delta));
  }

  #takeSpace(): string {
    const space = this.space;
    this.space = '';
    return space;
  }

  /** Returns the contents for the envelope of the open reasoning item, or of the next one. */
  #envelope(): EnvelopeContents {
    const open = this.open();
    if (open instanceof ReasoningItemWriter) return open.envelope();
    this.#pendingEnvelope ??= new EnvelopeContents(this.#parts.held, this.#parts.context);
    return this.#pendingEnvelope;
  }
}

function withoutBlankLines(text: string): string {
  return text.replace(/^\s*\n/, '');
}
