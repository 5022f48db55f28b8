import { objectOf, textOf } from '../../../../formats/json/loose.ts';
import type { ApiError } from '../../../wire/schema/api-error.ts';
import type { LooseAudio, LooseMessage } from '../../../wire/schema/chat-completion.ts';
import type { Annotation, ExtensionPart, Logprob, OutputItem } from '../../../wire/schema/response-resource.ts';
import type { ResponseContext } from '../../shared/context.ts';
import { GrowingText } from '../../shared/held-bytes.ts';
import type { Repair } from '../../shared/repairs.ts';
import { isThought } from '../read/call-entries.ts';
import { contentOf, stretchesOf, unreadPartsOf } from '../read/content-parts.ts';
import { extensionPartLength } from '../read/extensions.ts';
import type { DeltaField } from '../read/fast-delta.ts';
import { pictureIn, pictureUrlsOf } from '../read/pictures.ts';
import { reasoningOf } from '../read/reasoning-source.ts';
import { endsBlock, newTagReader, ThinkTagReader, type ThinkTagTexts } from '../read/think-tags.ts';
import { CurrentItem } from './current-item.ts';
import type { EventLog } from './event-log.ts';
import { LateCopy } from './late-copy.ts';
import { MessageItemWriter } from './message-item-writer.ts';
import { type ClosingStatus, Output, type WriterParts } from './output.ts';
import { ReasoningItemWriter } from './reasoning-item-writer.ts';
import { ToolCalls } from './tool-calls.ts';

/** The fields of a chunk or a completion beside its delta or message. */
export interface ChunkExtras {
  readonly logprobs: readonly Logprob[];
  readonly citations: readonly Annotation[];
  /** The chunk has a `finish_reason`. */
  readonly isLast: boolean;
  /** Whether the chunk has a whole `message`, which repeats the reasoning of the deltas before it. */
  readonly isMessage: boolean;
}

const noLogprobs: readonly Logprob[] = [];

/** White space beyond this is text: templates write a few line feeds, and what is held back must be bounded. */
const maxLeadingSpace = 256;

/**
 * Writes the output items of one answer: as its deltas arrive, or from one whole message. At most one message or reasoning
 * item is open, and whatever else opens closes it; a call is closed by what follows it once its arguments are complete.
 * Grammar: `docs/answers.md` §2.2, actions: §2.6.
 *
 * Most answers are text alone: what only others need is made when it is first needed.
 */
export class OutputWriter {
  readonly #parts: WriterParts;
  readonly #output: Output;
  #calls: ToolCalls | null = null;
  readonly #item: CurrentItem;
  /** Pictures that were already written: gateways repeat them. Null until one comes. */
  #pictures: Set<string> | null = null;
  #tags: ThinkTagReader | null;
  /** Reasoning came in a field before any text: a block in tags may be a copy of it, and waits for its end. Null until then. */
  #copy: GrowingText | null = null;
  /** Reasoning in tags came before any of a field, which may be its copy. Null until then, and once the field has said more. */
  #lateCopy: LateCopy | null = null;
  /** White space before any text: held back, because before calls it is only a template's markup (docs/answers.md §1.3). */
  #space = '';

  constructor(log: EventLog, context: ResponseContext, repairs: Set<Repair>) {
    this.#output = new Output(log);
    this.#parts = { log, output: this.#output, context, repairs };
    this.#item = new CurrentItem(this.#parts);
    this.#tags = newTagReader(context.profile);
  }

  /** Writes what a delta adds. Throws `ApiError` for a call that is not allowed. */
  add(delta: LooseMessage, extras: ChunkExtras): void {
    const isBegun = extras.isMessage && this.hasItems();
    const message = isBegun ? this.#withoutTagged(delta) : delta;
    if (extras.isMessage) this.#forgetHeldText(message, isBegun);
    this.#addParts(isBegun ? message : this.#lastStretch(message), extras, isBegun);
  }

  /**
   * One part after the other, in the order in which a model makes them: what is written closes what is open before it, and
   * logprobs have to be there when the text takes its own. `repeatsReasoning`: that of the delta was written already.
   */
  #addParts(delta: LooseMessage, extras: ChunkExtras, repeatsReasoning: boolean): void {
    this.#item.pushLogprobs(extras.logprobs);
    const reasoning = reasoningOf(delta);
    this.#item.carry(reasoning, extras.isMessage);
    if (!repeatsReasoning) this.#reason(reasoning.text, true);
    const content = contentOf(delta.content);
    if (isThought(delta)) this.#readThought(content.text);
    else this.#readText(content.text, extras.isLast);
    if (delta.audio != null) this.#readText(transcriptOf(delta), extras.isLast);
    this.cite(extras.citations);
    this.#refuse(textOf(delta.refusal) || content.refusal);
    this.#draw(delta);
    this.#extend(delta);
    this.#item.carryOwn(delta);
    const calls = this.#callsFor(delta);
    if (calls === null) return;
    this.#item.carryExtras(calls.gather(delta));
    calls.send();
  }

  /**
   * Writes a whole message, as a JSON completion has it; called once, before `finish`. Throws as `add` does. It differs from
   * one large delta in this, because nothing can follow:
   *
   * - what only carries an envelope comes first, as reasoning does, and holds what all calls carry;
   * - details and thinking blocks go back as they are, and each entry of `tool_calls` is a call of its own, closed before the next;
   * - think tags are read to their end, so that reasoning and text are one delta each;
   * - a transcript counts only without a text of its own;
   * - white space alone waits for `finish`, however long.
   */
  addWhole(given: LooseMessage, extras: Pick<ChunkExtras, 'logprobs' | 'citations'>): void {
    const calls = this.#callsFor(given);
    this.#item.carry(reasoningOf(given), true);
    this.#item.carryExtras(calls?.gatherWhole(given) ?? []);
    this.#item.carryOwn(given);
    const message = this.#lastStretch(given);
    const reasoning = reasoningOf(message);
    const content = contentOf(message.content);
    const text = content.text || transcriptOf(message);
    const isBlock = reasoning.text === '' || endsBlock(text);
    const tagged = this.#tags === null || !isBlock ? { thinking: '', text } : readToEnd(this.#tags, text);
    this.#tags = null;
    this.#endBlock();
    this.#reason(reasoning.text, true);
    if (reasoning.text === '' || !isCopy(tagged.thinking, reasoning.text)) this.#reason(tagged.thinking);
    this.#item.carryEnvelope();
    this.#item.pushLogprobs(extras.logprobs);
    if (tagged.text.trim() === '') this.#keepSpace(tagged.text);
    else this.#text(tagged.text, false);
    this.cite(extras.citations);
    this.#refuse(content.refusal || textOf(message.refusal));
    this.#draw(message);
    this.#extend(message);
    calls?.send();
  }

  /** Fast path: adds to the open item as `add` would. False if there is none of that kind, or tags must be read. */
  grow(field: DeltaField, text: string): boolean {
    switch (field.name) {
      case 'content':
        if (!(this.#item.current instanceof MessageItemWriter && (this.#tags?.isThrough() ?? true))) return false;
        this.#item.current.text(text, this.#item.logprobsOf(text));
        return true;
      case 'reasoning_content':
      case 'reasoning':
        // The first reasoning from a field changes the reading of tags, which is for `add` to do, and so is the reading of a copy.
        if (!(this.#item.current instanceof ReasoningItemWriter) || this.#lateCopy !== null) return false;
        if (this.#tags !== null && this.#copy === null) return false;
        this.#item.current.text(text);
        return true;
      case 'arguments':
        return this.#calls?.grow(field.index, text) ?? false;
    }
  }

  /** Writes citations: held back before any message, dropped after it, since a finished item does not change. */
  cite(citations: readonly Annotation[]): void {
    this.#item.cite(citations);
  }

  /** An error when a completed answer holds a call that its client could not run. */
  unrunnableCall(): ApiError | null {
    return this.#calls?.unrunnable() ?? null;
  }

  /**
   * The answer is complete: sends what was held back. Throws `ApiError` for a call that is not allowed, and for an answer of
   * nothing but broken calls, or of reasoning and those.
   */
  finish(): void {
    this.#flushTags();
    this.#calls?.finish();
    this.#item.carryEnvelope();
    if (!this.hasItems() && this.#space !== '') this.#item.beginText(this.#takeSpace());
    const error = this.hasAnswer() ? null : this.#calls?.nameless();
    if (error) throw error;
  }

  /** A completed answer has at least one item: an empty message, if there is none. */
  ensureOutput(): void {
    if (!this.hasItems()) this.#item.message().text('', noLogprobs);
  }

  /** Closes all that is open; the last item gets the status. */
  close(lastStatus: ClosingStatus): void {
    this.#flushTags();
    this.#output.closeAll(lastStatus);
  }

  /** Closes all that is open of an answer that failed. */
  fail(): void {
    this.#flushTags();
    this.#output.fail();
  }

  /** Is a call open that is, or may be, incomplete? */
  hasCutCall(): boolean {
    return this.#output.hasCutCall();
  }

  /** Has more arrived than reasoning? */
  hasAnswer(): boolean {
    return this.hasMessageOrCall() || this.#pictures !== null || (this.#space !== '' && !this.hasItems());
  }

  /** Has a message or a call been written? A whole message after it repeats it; after a picture alone it has the text. */
  hasMessageOrCall(): boolean {
    return this.#item.hadMessage || this.hasCall();
  }

  /** Has a call been written? */
  hasCall(): boolean {
    return this.#calls?.hasSent ?? false;
  }

  /** Nothing has arrived that shows in the output. */
  isEmpty(): boolean {
    return !this.hasItems() && this.#space === '';
  }

  hasItems(): boolean {
    return this.#output.size > 0;
  }

  /** Closed items. */
  items(): readonly OutputItem[] {
    return this.#output.items;
  }

  /** Thinking and text that alternate in one content: writes all but the last stretch, and gives the message with that one. */
  #lastStretch(message: LooseMessage): LooseMessage {
    const stretches = stretchesOf(message.content);
    // Thinking that a field of its own repeats has no stretches.
    if (stretches.length < 2 || reasoningOf({ ...message, content: null }).text !== '') return message;
    for (const stretch of stretches.slice(0, -1)) {
      const { text, thinking, refusal } = contentOf(stretch);
      this.#reason(thinking, true);
      this.#readText(text, false);
      this.#refuse(refusal);
    }
    return { ...message, content: stretches.at(-1) };
  }

  /** A whole message without the thinking in its text, if that of the deltas was there too. */
  #withoutTagged(message: LooseMessage): LooseMessage {
    if (this.#tags === null || reasoningOf(message).text !== '') return message;
    this.#flushTags();
    this.#tags = null;
    const { text, refusal } = contentOf(message.content);
    const content = readToEnd(new ThinkTagReader(this.#parts.context.profile), text).text;
    return { ...message, content, refusal: textOf(message.refusal) || refusal };
  }

  /** Forgets held-back text of the deltas: the text of a whole message has it too. */
  #forgetHeldText({ content }: LooseMessage, isBegun: boolean): void {
    if (contentOf(content).text === '') return;
    this.#space = '';
    this.#copy?.clear();
    if (!isBegun || this.#tags?.unshown() != null) this.#tags = newTagReader(this.#parts.context.profile);
  }

  #reason(text: string, isOfField = false): void {
    if (text === '') return;
    if (isOfField && this.#lateCopy !== null) {
      this.#showLate(this.#lateCopy.push(text));
      return;
    }
    // MiniMax's gateways leave it in the text too, in tags at its start.
    const unshown = isOfField && this.#copy === null ? (this.#tags?.unshown() ?? null) : null;
    if (unshown !== null) {
      this.#copy = new GrowingText(this.#parts.log.held);
      if (unshown !== '') this.#copy.append(unshown);
    }
    this.#item.reasoning().text(text);
  }

  /** Thinking from tags: shown as it comes, since what comes first cannot be a copy. */
  #reasonInTags(thinking: string): void {
    if (thinking === '') return;
    const item = this.#item.reasoning();
    item.text(thinking);
    this.#lateCopy ??= new LateCopy(this.#parts.log.held, () => item.written());
  }

  /** The block of thinking is over: a field's reasoning that came beside it and is no copy is shown. */
  #endBlock(): void {
    this.#showLate(this.#lateCopy?.endBlock() ?? '');
  }

  #showLate(text: string): void {
    if (text === '') return;
    this.#lateCopy = null;
    this.#item.reasoning().text(text);
  }

  #readText(content: string, isLast: boolean): void {
    if (content === '') return;
    if (this.#tags === null) this.#text(content, isLast);
    else {
      this.#copy?.append(content);
      this.#addTagged(this.#tags.push(content));
    }
  }

  /** Gemini writes `<thought>` before the first of them and `</thought>` before the answer. */
  #readThought(content: string): void {
    if (this.#tags?.expects(content)) {
      this.#addTagged(this.#tags.push(content));
      return;
    }
    this.#flushTags();
    this.#tags = null;
    this.#reason(content);
  }

  #addTagged({ thinking, text: answer }: ThinkTagTexts): void {
    if (this.#copy === null) this.#reasonInTags(thinking);
    if (this.#tags?.isInBlock() !== true) this.#endBlock();
    if (answer === '') return;
    this.#endCopy();
    this.#text(answer, false);
    if (this.#parts.context.profile.thinkTags === 'auto' && this.#tags?.isThrough()) this.#tags = null;
  }

  #text(delta: string, isLast: boolean): void {
    if (this.#item.current instanceof MessageItemWriter) {
      const repeatsAll = isLast && this.#parts.context.profile.dedupeTail && delta === this.#item.current.written();
      if (!repeatsAll) this.#item.current.text(delta, this.#item.logprobsOf(delta));
    } else if (delta.trim() === '') {
      this.#keepSpace(delta);
      if (this.#space.length > maxLeadingSpace) this.#item.beginText(this.#takeSpace());
    } else if (this.#item.current instanceof ReasoningItemWriter) {
      this.#item.beginText(withoutBlankLines(this.#takeSpace() + delta));
    } else {
      if (this.#space !== '') this.#item.text(this.#takeSpace());
      this.#item.beginText(delta);
    }
  }

  /** After a call it is dropped: text that follows has a message of its own. Blank lines after reasoning are its template's. */
  #keepSpace(delta: string): void {
    if (this.#calls?.hasSent) return;
    this.#space += delta;
    if (this.#item.current instanceof ReasoningItemWriter) this.#space = withoutBlankLines(this.#space);
  }

  #takeSpace(): string {
    const space = this.#space;
    this.#space = '';
    return space;
  }

  #refuse(delta: string): void {
    if (delta === '') return;
    this.#flushTags();
    this.#item.message().refusal(delta);
  }

  /** Writes the parts of the upstream's own, after the text. */
  #extend({ content }: LooseMessage): void {
    const { answer, profile } = this.#parts.context;
    if (!profile.passExtensions || answer.fold !== null) return;
    for (const part of unreadPartsOf(content)) {
      const length = extensionPartLength(part);
      // Those of Chat (`video_url`) have no provider's name, and pass as they came too.
      if (length !== null) this.#item.message().extension(part as ExtensionPart, length);
    }
  }

  /** Pictures become items of their own; of one that is elsewhere there is only its address, which the text has then. */
  #draw(message: LooseMessage): void {
    for (const url of pictureUrlsOf(message)) {
      if (this.#pictures?.has(url)) continue;
      this.#flushTags();
      const picture = pictureIn(url);
      if (picture?.data === '') continue;
      if (picture === null) this.#text(`![](${url})`, false);
      else {
        this.#item.close();
        const id = this.#parts.context.newId('ig');
        const { data: result, format } = picture;
        const item = { id, type: 'image_generation_call', ...(format !== null && { output_format: format }) } as const;
        this.#output.addWhole(
          { ...item, status: 'in_progress', result: null },
          { ...item, status: 'completed', result },
        );
      }
      this.#pictures ??= new Set();
      this.#pictures.add(url);
      this.#parts.log.held.add('address', url.length);
    }
  }

  #callsFor(delta: LooseMessage): ToolCalls | null {
    if (this.#calls !== null || (delta.tool_calls == null && delta.function_call == null)) return this.#calls;
    this.#calls = new ToolCalls(this.#parts, () => this.#beforeCall());
    return this.#calls;
  }

  #beforeCall(): void {
    this.#flushTags();
    this.#lateCopy = null;
    // `auto` looks at the very start of the answer alone.
    if (this.#tags !== null)
      this.#tags = this.#parts.context.profile.thinkTags === 'on' ? newTagReader(this.#parts.context.profile) : null;
    // Before what must go back gets an item of its own: that closes the message.
    if (this.#item.current instanceof MessageItemWriter) this.#item.current.isCommentary = true;
    this.#item.carryEnvelope();
    this.#item.close();
  }

  #flushTags(): void {
    if (this.#tags === null) return;
    const heldBack = this.#copy?.toString() ?? '';
    const rest = this.#tags.finish();
    // Beside a field a block that does not end is no block. The answer may be words of the reasoning, and is shown all the same.
    if (heldBack !== '' && rest.text === '' && !endsBlock(heldBack)) {
      this.#copy?.clear();
      this.#tags = null;
      this.#text(heldBack, false);
      return;
    }
    this.#addTagged(rest);
    this.#endBlock();
    this.#endCopy();
  }

  /** Ends the copy: text that stood in tags is shown unless the field had it. */
  #endCopy(): void {
    const copy = this.#copy?.toString() ?? '';
    if (copy === '') return;
    this.#copy?.clear();
    // What follows is the answer, which is no copy of anything.
    this.#copy = null;
    const { thinking } = readToEnd(new ThinkTagReader(this.#parts.context.profile), copy);
    if (!isCopy(thinking, this.#shown())) this.#reason(thinking);
  }

  /** The reasoning of the open item. */
  #shown(): string {
    return this.#item.current instanceof ReasoningItemWriter ? this.#item.current.written() : '';
  }
}

function isCopy(text: string, shown: string): boolean {
  return shown.includes(text.trim());
}

function readToEnd(tags: ThinkTagReader, content: string): ThinkTagTexts {
  const begun = tags.push(content);
  const rest = tags.finish();
  return { thinking: begun.thinking + rest.thinking, text: begun.text + rest.text };
}

/** The text from its first line on that is not blank. */
function withoutBlankLines(text: string): string {
  return text.replace(/^\s*\n/, '');
}

function transcriptOf({ audio }: LooseMessage): string {
  return audio == null ? '' : textOf(objectOf<LooseAudio>(audio)?.transcript);
}
