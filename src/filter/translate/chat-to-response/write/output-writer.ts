import { objectOf, textOf } from '../../../../formats/json/loose.ts';
import type { ApiError } from '../../../wire/schema/api-error.ts';
import type { LooseAudio, LooseMessage } from '../../../wire/schema/chat-completion.ts';
import type { Annotation, ExtensionPart, Logprob } from '../../../wire/schema/response-resource.ts';
import type { Repair, ResponseContext } from '../../shared/context.ts';
import { isThought } from '../read/call-entries.ts';
import {
  findUnreadParts,
  readContentTexts,
  readPicture,
  readPictureUrls,
  splitStretches,
} from '../read/content-parts.ts';
import { measureExtensionPart } from '../read/extensions.ts';
import type { DeltaField } from '../read/fast-delta.ts';
import { readReasoning } from '../read/reasoning-source.ts';
import type { EventLog } from './event-log.ts';
import { type ClosingStatus, Output, type WriterParts } from './output.ts';
import { MessageItemWriter, ReasoningItemWriter } from './plain-item-writers.ts';
import { PlainItems } from './plain-items.ts';
import { ReasoningInText } from './reasoning-in-text.ts';
import { ToolCalls } from './tool-calls.ts';

export interface MessageExtras {
  readonly logprobs: readonly Logprob[];
  readonly citations: readonly Annotation[];
}

/** The fields of a chunk beside its delta or message. */
export interface ChunkExtras extends MessageExtras {
  /** The chunk has a `finish_reason`. */
  readonly isLast: boolean;
  /** The chunk has a whole `message`, which repeats the reasoning of the deltas before it. */
  readonly isMessage: boolean;
}

/** Writes the output items of one answer, as its deltas arrive or from one whole message. The head of `output.ts` has the rules. */
export class OutputWriter {
  readonly items: Output;
  readonly #parts: WriterParts;
  readonly #plain: PlainItems;
  readonly #thinking: ReasoningInText;
  #calls: ToolCalls | null = null;
  /** Addresses of the pictures that were written, since gateways repeat pictures. Null until one comes. */
  #pictures: Set<string> | null = null;

  constructor(log: EventLog, context: ResponseContext, repairs: Set<Repair>) {
    this.items = new Output(log);
    this.#parts = { output: this.items, held: log.held, context, repairs };
    this.#plain = new PlainItems(this.#parts);
    this.#thinking = new ReasoningInText(this.#parts, this.#plain);
  }

  /** Writes what a delta adds. Throws `ApiError` for a call that is not allowed. */
  add(given: LooseMessage, extras: ChunkExtras): void {
    const isBegun = extras.isMessage && this.hasItems();
    const message = isBegun ? this.#thinking.withoutTagged(given) : given;
    if (extras.isMessage && readContentTexts(message.content).text !== '') {
      // The whole message has the text of the deltas that was held back.
      this.#plain.space = '';
      this.#thinking.forget(isBegun);
    }
    const delta = isBegun ? message : this.#lastStretch(message);
    // Each part closes what is open before it, and logprobs have to be there when the text takes its own.
    this.#plain.pushLogprobs(extras.logprobs);
    const reasoning = readReasoning(delta);
    this.#plain.carry(reasoning, extras.isMessage);
    if (!isBegun) this.#thinking.reason(reasoning.text);
    const content = readContentTexts(delta.content);
    if (isThought(delta)) this.#thinking.readThought(content.text);
    else this.#thinking.read(content.text, extras.isLast);
    if (delta.audio != null) this.#thinking.read(readTranscript(delta), extras.isLast);
    this.#addBeside(delta, content.refusal, extras.citations);
    this.#plain.carryOwn(delta);
    const calls = this.#callsFor(delta);
    if (calls === null) return;
    this.#plain.carryExtras(calls.gather(delta));
    calls.send();
  }

  /**
   * Writes the whole message of a JSON completion, before `finish`. Throws as `add` does. Nothing can follow, so it differs from a delta:
   *
   * - The item that carries an envelope comes first, as reasoning does, and holds what all calls carry.
   * - Details and thinking blocks go back as they are. Each entry of `tool_calls` is a call of its own, closed before the next.
   * - Think tags are read to their end, so that reasoning and text are one delta each.
   * - A transcript counts only where the message has no text.
   * - White space alone waits for `finish`, however long it is.
   */
  addWhole(given: LooseMessage, extras: MessageExtras): void {
    const calls = this.#callsFor(given);
    this.#plain.carry(readReasoning(given), true);
    this.#plain.carryExtras(calls?.gatherWhole(given) ?? []);
    this.#plain.carryOwn(given);
    const message = this.#lastStretch(given);
    const content = readContentTexts(message.content);
    const text = this.#thinking.readWhole(content.text || readTranscript(message), readReasoning(message).text);
    this.#plain.carryEnvelope();
    this.#plain.pushLogprobs(extras.logprobs);
    if (text.trim() === '') this.#plain.keepSpace(text);
    else this.#plain.text(text, false);
    this.#addBeside(message, content.refusal, extras.citations);
    calls?.send();
  }

  /** Writes what a delta or a message has beside its text and its calls. `refusal` is the one in its content. */
  #addBeside(message: LooseMessage, refusal: string, citations: readonly Annotation[]): void {
    this.cite(citations);
    this.#refuse(textOf(message.refusal) || refusal);
    this.#draw(message);
    this.#extend(message);
  }

  /** Fast path: adds to the open item as `add` would. Returns false if no item of that kind is open, or tags must be read. */
  grow(field: DeltaField, text: string): boolean {
    if (field.name === 'arguments') return this.#calls?.grow(field.index, text) ?? false;
    const open = this.items.last();
    if (field.name === 'content') {
      if (!(open instanceof MessageItemWriter && this.#thinking.isThrough())) return false;
      open.text(text, this.#plain.takeLogprobs(text));
    } else {
      if (!(open instanceof ReasoningItemWriter && this.#thinking.isFieldPlain())) return false;
      open.text(text);
    }
    return true;
  }

  cite(citations: readonly Annotation[]): void {
    this.#plain.cite(citations);
  }

  unrunnableCall(): ApiError | null {
    return this.#calls?.unrunnable() ?? null;
  }

  /**
   * Sends what was held back of an answer that is complete. Throws `ApiError` for a call that is not allowed, and for an answer of
   * nothing but calls without a name, and reasoning.
   */
  finish(): void {
    this.#thinking.flush();
    this.#calls?.finish();
    // Behind other items the envelope waits for `close`: the last of those items is the one that a limit cut.
    if (!this.hasItems()) this.#plain.carryEnvelope();
    if (!this.hasItems() && this.#plain.space !== '') this.#plain.writeSpace();
    const error = this.hasAnswer() ? null : this.#calls?.nameless();
    if (error) throw error;
  }

  /** Writes an empty message if there is no item: a completed answer has at least one. */
  ensureOutput(): void {
    if (!this.hasItems()) this.#plain.message().text('', []);
  }

  /** Closes all that is open; the last item gets the status. Behind it comes the item that only carries an envelope. */
  close(lastStatus: ClosingStatus): void {
    this.#thinking.flush();
    this.items.closeAll(lastStatus);
    this.#plain.carryEnvelope();
    this.items.closeAll('completed');
  }

  fail(): void {
    this.items.unbind();
    this.#thinking.flush();
    this.items.fail();
  }

  hasCutCall(): boolean {
    return this.items.hasCutCall();
  }

  /** Has more arrived than reasoning? */
  hasAnswer(): boolean {
    return this.hasMessageOrCall() || this.#pictures !== null || (this.#plain.space !== '' && !this.hasItems());
  }

  /** Was a message or a call written, which a whole message after it repeats? After a picture alone that message has the text. */
  hasMessageOrCall(): boolean {
    return this.#plain.hadMessage || this.items.calls > 0;
  }

  hasItems(): boolean {
    return this.items.size > 0;
  }

  /** Where thinking and text alternate in one content, writes all but the last stretch, and returns the message with that stretch. */
  #lastStretch(message: LooseMessage): LooseMessage {
    const stretches = splitStretches(message.content);
    // Reasoning in a field of its own repeats all of the thinking: the content is not split then.
    if (stretches.length < 2 || readReasoning({ ...message, content: null }).text !== '') return message;
    for (const stretch of stretches.slice(0, -1)) {
      const { text, thinking, refusal } = readContentTexts(stretch);
      this.#thinking.reason(thinking);
      this.#thinking.read(text, false);
      this.#refuse(refusal);
    }
    return { ...message, content: stretches.at(-1) };
  }

  #refuse(delta: string): void {
    if (delta === '') return;
    this.#thinking.flush();
    this.#plain.message().refusal(delta);
  }

  /** Writes the parts of the upstream's own, after the text. */
  #extend({ content }: LooseMessage): void {
    const { answer, profile } = this.#parts.context;
    if (!profile.passExtensions || answer.fold !== null) return;
    for (const part of findUnreadParts(content)) {
      const length = measureExtensionPart(part);
      // Parts of Chat (`video_url`) have no provider's name, and pass as they came too.
      if (length !== null) this.#plain.message().extension(part as ExtensionPart, length);
    }
  }

  /** Writes an item for each picture. A picture that is not in the answer becomes a Markdown image of its address in the text. */
  #draw(message: LooseMessage): void {
    for (const url of readPictureUrls(message)) {
      if (this.#pictures?.has(url)) continue;
      this.#thinking.flush();
      const picture = readPicture(url);
      if (picture?.data === '') continue;
      if (picture === null) this.#plain.text(`![](${url})`, false);
      else {
        this.#plain.close();
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

function readTranscript({ audio }: LooseMessage): string {
  return audio == null ? '' : textOf(objectOf<LooseAudio>(audio)?.transcript);
}
