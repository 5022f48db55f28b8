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

/** White space beyond this is text: templates write a few line feeds, and what is held back must be bounded. */
const maxLeadingSpace = 256;

/** The messages and reasoning items of an answer, of which one at most is open, with what belongs to one but came before it. */
export class PlainItems {
  readonly #parts: WriterParts;
  hadMessage = false;
  /** White space before any text: held back, because before calls it is only a template's markup (docs/answers.md §1.3). */
  space = '';
  #logprobs: AnswerLogprobs | null = null;
  /** Citations that came before any message, until one has text. */
  #earlyCitations: CitationList | null = null;
  /** Contents for the envelope of the next reasoning item. */
  #pendingEnvelope: EnvelopeContents | null = null;

  constructor(parts: WriterParts) {
    this.#parts = parts;
  }

  open(): MessageItemWriter | ReasoningItemWriter | null {
    const last = this.#parts.output.last();
    return last instanceof MessageItemWriter || last instanceof ReasoningItemWriter ? last : null;
  }

  /** The open message; opens one if there is none. */
  message(): MessageItemWriter {
    const open = this.open();
    if (open instanceof MessageItemWriter) return open;
    // Thinking without text stands before what it led to, as in a message in one piece.
    if (this.#pendingEnvelope?.hasWholeBlock) this.reasoning();
    this.close();
    this.hadMessage = true;
    return new MessageItemWriter(this.#parts);
  }

  /** The open reasoning item; opens one if there is none. */
  reasoning(): ReasoningItemWriter {
    const open = this.open();
    if (open instanceof ReasoningItemWriter) return open;
    this.close();
    const envelope = this.#pendingEnvelope;
    this.#pendingEnvelope = null;
    return new ReasoningItemWriter(this.#parts, envelope);
  }

  /** The text of the open reasoning item; `''` where none is open. */
  reasoningSoFar(): string {
    const open = this.open();
    return open instanceof ReasoningItemWriter ? open.written() : '';
  }

  /** Writes text of the answer. `isLast`: no delta follows. */
  text(delta: string, isLast: boolean): void {
    const open = this.open();
    if (open instanceof MessageItemWriter) {
      const repeatsAll = isLast && this.#parts.context.profile.dedupeTail && delta === open.written();
      if (!repeatsAll) open.text(delta, this.takeLogprobs(delta));
    } else if (delta.trim() === '') {
      this.keepSpace(delta);
      if (this.space.length > maxLeadingSpace) this.#begin(this.#takeSpace());
    } else if (this.reasoningSoFar() !== '') {
      this.#begin(withoutBlankLines(this.#takeSpace() + delta));
    } else {
      const space = this.#takeSpace();
      if (space !== '') this.#write(space);
      this.#begin(delta);
    }
  }

  /** Holds back white space; after a call it is dropped, as text that follows has a message of its own. Blank lines after reasoning are its template's. */
  keepSpace(delta: string): void {
    if (this.#parts.output.calls > 0) return;
    this.space += delta;
    // Not after an envelope alone: that may come later in a stream.
    if (this.reasoningSoFar() !== '') this.space = withoutBlankLines(this.space);
  }

  /** The answer is white space alone. */
  writeSpace(): void {
    this.#begin(this.#takeSpace());
  }

  /** Writes citations: held back before any message, dropped after it, since a finished item does not change. */
  cite(citations: readonly Annotation[]): void {
    if (citations.length === 0) return;
    const open = this.open();
    if (open instanceof MessageItemWriter) open.cite(citations);
    else if (!this.hadMessage) {
      this.#earlyCitations ??= new CitationList(this.#parts.held);
      this.#earlyCitations.add(citations);
    }
  }

  /** Keeps logprobs until their text comes. */
  pushLogprobs(logprobs: readonly Logprob[]): void {
    if (logprobs.length === 0) return;
    this.#logprobs ??= new AnswerLogprobs(this.#parts.held);
    this.#logprobs.push(logprobs);
  }

  takeLogprobs(text: string): readonly Logprob[] {
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
    const fields = extra_content == null ? null : readOpaqueFields({ extra_content });
    if (fields !== null) this.#envelope().addExtra({ fields, callId: () => '' });
  }

  /** Opens an item for the envelope, even without text: what must go back to the upstream travels in it. */
  carryEnvelope(): void {
    if (this.#pendingEnvelope?.needsItem()) this.reasoning();
  }

  /** A call is about to open: closes what is open, and before it opens what has to go back with the call. */
  beforeCall(): void {
    const open = this.open();
    if (open instanceof MessageItemWriter) open.isCommentary = true;
    this.carryEnvelope();
    this.close();
  }

  close(): void {
    if (this.open() !== null) this.#parts.output.closeLast();
  }

  /** Writes text of the message, and the citations that came before it. */
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

  /** Returns the envelope of the open reasoning item, or of the next one. */
  #envelope(): EnvelopeContents {
    const open = this.open();
    if (open instanceof ReasoningItemWriter) return open.envelope();
    this.#pendingEnvelope ??= new EnvelopeContents(this.#parts.held, this.#parts.context);
    return this.#pendingEnvelope;
  }
}

/** The text from its first line on that is not blank. */
function withoutBlankLines(text: string): string {
  return text.replace(/^\s*\n/, '');
}
