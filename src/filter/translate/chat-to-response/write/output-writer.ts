import { objectOf, textOf } from '../../../../formats/json/loose.ts';
import type { ApiError } from '../../../wire/schema/api-error.ts';
import type { LooseAudio, LooseMessage } from '../../../wire/schema/chat-completion.ts';
import type { Annotation, ExtensionPart, Logprob } from '../../../wire/schema/response-resource.ts';
import type { Repair, ResponseContext } from '../../shared/context.ts';
import { isThought } from '../read/call-entries.ts';
import { findUnreadParts, readContentTexts, splitStretches } from '../read/content-parts.ts';
import { measureExtensionPart } from '../read/extensions.ts';
import type { DeltaField } from '../read/fast-delta.ts';
import { readPicture, readPictureUrls } from '../read/pictures.ts';
import { readReasoning } from '../read/reasoning-source.ts';
import type { EventLog } from './event-log.ts';
import { type ClosingStatus, Output, type WriterParts } from './output.ts';
import { MessageItemWriter, ReasoningItemWriter } from './plain-item-writers.ts';
import { PlainItems } from './plain-items.ts';
import { ReasoningInText } from './reasoning-in-text.ts';
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

/**
 * Writes the output items of one answer: as its deltas arrive, or from one whole message. `output.ts` says how.
 *
 * Most answers are text alone: what only others need is made when it is first needed.
 */
export class OutputWriter {
  readonly items: Output;
  readonly #parts: WriterParts;
  readonly #items: PlainItems;
  readonly #thinking: ReasoningInText;
  #calls: ToolCalls | null = null;
  /** Pictures that were already written: gateways repeat them. Null until one comes. */
  #pictures: Set<string> | null = null;

  constructor(log: EventLog, context: ResponseContext, repairs: Set<Repair>) {
    this.items = new Output(log);
    this.#parts = { output: this.items, held: log.held, context, repairs };
    this.#items = new PlainItems(this.#parts);
    this.#thinking = new ReasoningInText(this.#parts, this.#items);
  }

  /** Writes what a delta adds. Throws `ApiError` for a call that is not allowed. */
  add(delta: LooseMessage, extras: ChunkExtras): void {
    const isBegun = extras.isMessage && this.hasItems();
    const message = isBegun ? this.#thinking.withoutTagged(delta) : delta;
    if (extras.isMessage) this.#forgetHeldText(message, isBegun);
    this.#addParts(isBegun ? message : this.#lastStretch(message), extras, isBegun);
  }

  /**
   * One part after the other, in the order in which a model makes them: what is written closes what is open before it, and
   * logprobs have to be there when the text takes its own. `repeatsReasoning`: that of the delta was written already.
   */
  #addParts(delta: LooseMessage, extras: ChunkExtras, repeatsReasoning: boolean): void {
    this.#items.pushLogprobs(extras.logprobs);
    const reasoning = readReasoning(delta);
    this.#items.carry(reasoning, extras.isMessage);
    if (!repeatsReasoning) this.#thinking.reason(reasoning.text);
    const content = readContentTexts(delta.content);
    if (isThought(delta)) this.#thinking.readThought(content.text);
    else this.#thinking.read(content.text, extras.isLast);
    if (delta.audio != null) this.#thinking.read(transcriptOf(delta), extras.isLast);
    this.cite(extras.citations);
    this.#refuse(textOf(delta.refusal) || content.refusal);
    this.#draw(delta);
    this.#extend(delta);
    this.#items.carryOwn(delta);
    const calls = this.#callsFor(delta);
    if (calls === null) return;
    this.#items.carryExtras(calls.gather(delta));
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
    this.#items.carry(readReasoning(given), true);
    this.#items.carryExtras(calls?.gatherWhole(given) ?? []);
    this.#items.carryOwn(given);
    const message = this.#lastStretch(given);
    const content = readContentTexts(message.content);
    const text = this.#thinking.readWhole(content.text || transcriptOf(message), readReasoning(message).text);
    this.#items.carryEnvelope();
    this.#items.pushLogprobs(extras.logprobs);
    if (text.trim() === '') this.#items.keepSpace(text);
    else this.#items.text(text, false);
    this.cite(extras.citations);
    this.#refuse(content.refusal || textOf(message.refusal));
    this.#draw(message);
    this.#extend(message);
    calls?.send();
  }

  /** Fast path: adds to the open item as `add` would. False if there is none of that kind, or tags must be read. */
  grow(field: DeltaField, text: string): boolean {
    if (field.name === 'arguments') return this.#calls?.grow(field.index, text) ?? false;
    const open = this.items.last();
    if (field.name === 'content') {
      if (!(open instanceof MessageItemWriter && this.#thinking.isThrough())) return false;
      open.text(text, this.#items.takeLogprobs(text));
    } else {
      if (!(open instanceof ReasoningItemWriter && this.#thinking.isFieldPlain())) return false;
      open.text(text);
    }
    return true;
  }

  cite(citations: readonly Annotation[]): void {
    this.#items.cite(citations);
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
    this.#thinking.flush();
    this.#calls?.finish();
    // Behind other items it waits for `close`: the last of those is the one that a limit cut.
    if (!this.hasItems()) this.#items.carryEnvelope();
    if (!this.hasItems() && this.#items.space !== '') this.#items.writeSpace();
    const error = this.hasAnswer() ? null : this.#calls?.nameless();
    if (error) throw error;
  }

  /** A completed answer has at least one item: an empty message, if there is none. */
  ensureOutput(): void {
    if (!this.hasItems()) this.#items.message().text('', noLogprobs);
  }

  /** Closes all that is open; the last item gets the status, and behind it comes what only carries an envelope. */
  close(lastStatus: ClosingStatus): void {
    this.#thinking.flush();
    this.items.closeAll(lastStatus);
    this.#items.carryEnvelope();
    this.items.closeAll('completed');
  }

  /** Closes all that is open of an answer that failed. */
  fail(): void {
    this.#thinking.flush();
    this.items.fail();
  }

  /** Is a call open that is, or may be, incomplete? */
  hasCutCall(): boolean {
    return this.items.hasCutCall();
  }

  /** Has more arrived than reasoning? */
  hasAnswer(): boolean {
    return this.hasMessageOrCall() || this.#pictures !== null || (this.#items.space !== '' && !this.hasItems());
  }

  /** Has a message or a call been written? A whole message after it repeats it; after a picture alone it has the text. */
  hasMessageOrCall(): boolean {
    return this.#items.hadMessage || this.items.calls > 0;
  }

  /** Nothing has arrived that shows in the output. */
  isEmpty(): boolean {
    return !this.hasItems() && this.#items.space === '';
  }

  hasItems(): boolean {
    return this.items.size > 0;
  }

  /** Thinking and text that alternate in one content: writes all but the last stretch, and gives the message with that one. */
  #lastStretch(message: LooseMessage): LooseMessage {
    const stretches = splitStretches(message.content);
    // Thinking that a field of its own repeats has no stretches.
    if (stretches.length < 2 || readReasoning({ ...message, content: null }).text !== '') return message;
    for (const stretch of stretches.slice(0, -1)) {
      const { text, thinking, refusal } = readContentTexts(stretch);
      this.#thinking.reason(thinking);
      this.#thinking.read(text, false);
      this.#refuse(refusal);
    }
    return { ...message, content: stretches.at(-1) };
  }

  /** Forgets held-back text of the deltas: the text of a whole message has it too. */
  #forgetHeldText({ content }: LooseMessage, isBegun: boolean): void {
    if (readContentTexts(content).text === '') return;
    this.#items.space = '';
    this.#thinking.forget(isBegun);
  }

  #refuse(delta: string): void {
    if (delta === '') return;
    this.#thinking.flush();
    this.#items.message().refusal(delta);
  }

  /** Writes the parts of the upstream's own, after the text. */
  #extend({ content }: LooseMessage): void {
    const { answer, profile } = this.#parts.context;
    if (!profile.passExtensions || answer.fold !== null) return;
    for (const part of findUnreadParts(content)) {
      const length = measureExtensionPart(part);
      // Those of Chat (`video_url`) have no provider's name, and pass as they came too.
      if (length !== null) this.#items.message().extension(part as ExtensionPart, length);
    }
  }

  /** Pictures become items of their own; of one that is elsewhere there is only its address, which the text has then. */
  #draw(message: LooseMessage): void {
    for (const url of readPictureUrls(message)) {
      if (this.#pictures?.has(url)) continue;
      this.#thinking.flush();
      const picture = readPicture(url);
      if (picture?.data === '') continue;
      if (picture === null) this.#items.text(`![](${url})`, false);
      else {
        this.#items.close();
        const id = this.#parts.context.newId('ig');
        const { data: result, format } = picture;
        const item = { id, type: 'image_generation_call', ...(format !== null && { output_format: format }) } as const;
        this.items.addWhole(
          { ...item, status: 'in_progress', result: null },
          { ...item, status: 'completed', result },
          2 * result.length,
        );
      }
      this.#pictures ??= new Set();
      this.#pictures.add(url);
      this.#parts.held.add('address', url.length);
    }
  }

  #callsFor(delta: LooseMessage): ToolCalls | null {
    if (this.#calls !== null || (delta.tool_calls == null && delta.function_call == null)) return this.#calls;
    this.#calls = new ToolCalls(this.#parts, this.#thinking);
    return this.#calls;
  }
}

function transcriptOf({ audio }: LooseMessage): string {
  return audio == null ? '' : textOf(objectOf<LooseAudio>(audio)?.transcript);
}
