import type { ApiError } from '../../schema/api-error.ts';
import { type Loose, objectOf, textOf } from '../../schema/chat-completion.ts';
import type { Logprob, OutputItem, UrlCitation } from '../../schema/response-resource.ts';
import type { Profile } from '../../upstream/profile.ts';
import { namelessCall, signatureOf } from '../chat/call-entries.ts';
import { type CitationList, createCitationList } from '../chat/citations.ts';
import { contentOf } from '../chat/content-parts.ts';
import type { DeltaField } from '../chat/fast-delta.ts';
import { reasoningOf } from '../chat/reasoning-source.ts';
import { createThinkTagReader, type ThinkTagReader, type ThinkTagTexts } from '../chat/think-tags.ts';
import type { ResponseContext } from '../context.ts';
import type { EventLog } from './event-log.ts';
import { type MessageItem, openMessage } from './message-item-writer.ts';
import { type ClosingStatus, createOutput, type Output } from './output.ts';
import { openReasoning, type ReasoningItem } from './reasoning-item-writer.ts';
import { type CallSignature, createToolCalls, type ToolCalls } from './tool-calls.ts';

/** What a chunk says beside its delta. */
export interface ChunkExtras {
  readonly logprobs: readonly Logprob[];
  readonly citations: readonly UrlCitation[];
  /** The chunk has a `finish_reason`. */
  readonly isLast: boolean;
}

/** Writes the output items of one answer as its deltas arrive. */
export interface OutputWriter {
  /** Errors are the model's: a call that is not allowed. */
  add(delta: Loose, beside: ChunkExtras): ApiError | null;
  /**
   * More of the item that is open, as `add` would write it. False, and nothing is done, if no item of that kind is open,
   * or the text must be looked into.
   */
  grow(field: DeltaField, text: string): boolean;
  /** Citations of a chunk that has no delta. */
  cite(citations: readonly UrlCitation[]): void;
  /** The answer is whole: sends what was held back. An answer of nothing but broken calls is an error. */
  finish(): ApiError | null;
  /** A completed answer has at least one item: an empty message, if there is none. */
  ensureOutput(): void;
  /** Closes all that is open; the last item gets the status. */
  close(lastStatus: ClosingStatus): void;
  /** Nothing has arrived that would show in the output. */
  isEmpty(): boolean;
  /** Closed items. */
  items(): readonly OutputItem[];
  nameless(): number;
}

type Current =
  | { readonly type: 'message'; readonly item: MessageItem }
  | { readonly type: 'reasoning'; readonly item: ReasoningItem };

const noLogprobs: readonly Logprob[] = [];

/** What waits for a reasoning item, to go into its envelope. */
interface PendingReasoning {
  readonly details: Loose[];
  readonly signatures: CallSignature[];
}

/**
 * At most one message or reasoning item is open, and whatever else opens closes it; calls stay open to the end, since
 * servers interleave them. Grammar: `docs/answers.md` §3.2, actions: §3.6.
 */
export function createOutputWriter(log: EventLog, context: ResponseContext): OutputWriter {
  return new ItemWriter(log, context);
}

/** Most answers are text alone: what only others need is made when it is first needed. */
class ItemWriter implements OutputWriter {
  readonly #log: EventLog;
  readonly #context: ResponseContext;
  readonly #output: Output;
  #calls: ToolCalls | null = null;
  #current: Current | null = null;
  #hadMessage = false;
  #tags: ThinkTagReader | null;
  /** White space before any text: kept back, because before calls it means nothing. */
  #space = '';
  #spaceLogprobs: Logprob[] | null = null;
  /** Citations that came before any message, until one has text. */
  #early: CitationList | null = null;
  #pendingReasoning: PendingReasoning | null = null;

  constructor(log: EventLog, context: ResponseContext) {
    this.#log = log;
    this.#context = context;
    this.#output = createOutput(log);
    this.#tags = newTagReader(context.profile);
  }

  add(delta: Loose, beside: ChunkExtras): ApiError | null {
    const reasoning = reasoningOf(delta);
    if (reasoning.details.length > 0) this.#addDetails(reasoning.details);
    if (reasoning.text !== '') {
      // A server with a field for it leaves no tags in the text.
      this.#tags = null;
      this.#reason(reasoning.text);
    }
    const content = contentOf(delta['content']);
    this.#readText(content.text, beside);
    if (delta['audio'] != null) this.#readText(textOf(objectOf(delta['audio'])?.['transcript']), beside);
    this.#refuse(textOf(delta['refusal']) || content.refusal);
    if (beside.citations.length > 0) this.cite(beside.citations);
    const signature = signatureOf(delta);
    if (signature !== '') this.#sign({ signature, callId: () => '' });
    const calls = this.#callsFor(delta);
    if (calls === null) return null;
    for (const ofCall of calls.gather(delta)) this.#sign(ofCall);
    return calls.send();
  }

  grow(field: DeltaField, text: string): boolean {
    switch (field.name) {
      case 'content':
        if (this.#current?.type !== 'message' || !(this.#tags?.isThrough() ?? true)) return false;
        this.#current.item.text(text, noLogprobs);
        return true;
      case 'reasoning_content':
      case 'reasoning':
        // The first reasoning from a field ends the reading of tags, which is for `add` to do.
        if (this.#current?.type !== 'reasoning' || this.#tags !== null) return false;
        this.#current.item.text(text);
        return true;
      case 'arguments':
        return this.#calls?.grow(field.index, text) ?? false;
    }
  }

  /** Citations of a message that is closed are late: a finished item does not change. Before any message they wait. */
  cite(more: readonly UrlCitation[]): void {
    if (this.#current?.type === 'message') {
      this.#current.item.cite(more);
    } else if (!this.#hadMessage) {
      this.#early ??= createCitationList();
      this.#early.add(more);
    }
  }

  finish(): ApiError | null {
    this.#flushTags();
    const error = this.#calls?.finish() ?? null;
    if (error !== null) return error;
    this.#carryEnvelope();
    if (this.#output.size() > 0) return null;
    if (this.#space !== '') this.#begin(this.#space, this.#spaceLogprobs ?? noLogprobs);
    return this.#output.size() === 0 && this.nameless() > 0 ? namelessCall() : null;
  }

  ensureOutput(): void {
    if (this.#output.size() === 0) this.#messageItem().text('', noLogprobs);
  }

  close(lastStatus: ClosingStatus): void {
    this.#flushTags();
    this.#output.closeAll(lastStatus);
  }

  isEmpty(): boolean {
    return this.#output.size() === 0 && this.#space === '';
  }

  items(): readonly OutputItem[] {
    return this.#output.items();
  }

  nameless(): number {
    return this.#calls?.nameless() ?? 0;
  }

  #reason(text: string): void {
    if (text !== '') this.#reasoningItem().text(text);
  }

  #reasoningItem(): ReasoningItem {
    if (this.#current?.type === 'reasoning') return this.#current.item;
    this.#closeCurrent();
    const item = openReasoning(this.#log, this.#output, this.#context);
    if (this.#pendingReasoning !== null) {
      item.addDetails(this.#pendingReasoning.details);
      for (const { callId, signature } of this.#pendingReasoning.signatures) item.addSignature(callId, signature);
    }
    this.#pendingReasoning = null;
    this.#current = { type: 'reasoning', item };
    return item;
  }

  #addDetails(entries: readonly Loose[]): void {
    if (this.#current?.type === 'reasoning') {
      this.#current.item.addDetails(entries);
      return;
    }
    this.#pendingReasoning ??= { details: [], signatures: [] };
    for (const entry of entries) this.#pendingReasoning.details.push(entry);
  }

  #sign(signed: CallSignature): void {
    if (this.#current?.type === 'reasoning') {
      this.#current.item.addSignature(signed.callId, signed.signature);
      return;
    }
    this.#pendingReasoning ??= { details: [], signatures: [] };
    this.#pendingReasoning.signatures.push(signed);
  }

  /** What must go back to the upstream needs an item to travel in, even without text. */
  #carryEnvelope(): void {
    if (this.#pendingReasoning === null) return;
    const { signatures, details } = this.#pendingReasoning;
    if (signatures.length > 0 || (details.length > 0 && this.#context.wantsEncryptedReasoning)) this.#reasoningItem();
  }

  #readText(content: string, beside: ChunkExtras): void {
    if (content === '') return;
    if (this.#tags === null) this.#text(content, beside.logprobs, beside.isLast);
    else this.#addTagged(this.#tags.push(content), beside.logprobs);
  }

  #addTagged({ thinking, text: answer }: ThinkTagTexts, logprobs: readonly Logprob[]): void {
    this.#reason(thinking);
    if (answer !== '') this.#text(answer, logprobs, false);
  }

  #text(delta: string, logprobs: readonly Logprob[], isLast: boolean): void {
    if (this.#current?.type === 'message') {
      const { item } = this.#current;
      const repeatsAll = isLast && this.#context.profile.dedupeTail && delta === item.written();
      if (!repeatsAll) item.text(delta, logprobs);
    } else if (delta.trim() === '') {
      this.#space += delta;
      if (logprobs.length === 0) return;
      this.#spaceLogprobs ??= [];
      for (const logprob of logprobs) this.#spaceLogprobs.push(logprob);
    } else {
      const isFirst = !(this.#calls?.hasSent() ?? false);
      if (isFirst && this.#space !== '') this.#messageItem().text(this.#space, this.#spaceLogprobs ?? noLogprobs);
      this.#space = '';
      this.#spaceLogprobs = null;
      this.#begin(delta, logprobs);
    }
  }

  /** The first text of a message. */
  #begin(delta: string, logprobs: readonly Logprob[]): void {
    const message = this.#messageItem();
    message.text(delta, logprobs);
    if (this.#early !== null) message.cite(this.#early.all);
    this.#early = null;
  }

  #messageItem(): MessageItem {
    if (this.#current?.type === 'message') return this.#current.item;
    this.#closeCurrent();
    const item = openMessage(this.#log, this.#output, this.#context.newId);
    this.#current = { type: 'message', item };
    this.#hadMessage = true;
    return item;
  }

  #refuse(delta: string): void {
    if (delta === '') return;
    this.#flushTags();
    this.#messageItem().refusal(delta);
  }

  /** Null while no delta has said anything about calls. */
  #callsFor(delta: Loose): ToolCalls | null {
    if (this.#calls !== null || (delta['tool_calls'] == null && delta['function_call'] == null)) return this.#calls;
    this.#calls = createToolCalls({
      log: this.#log,
      output: this.#output,
      context: this.#context,
      beforeCall: () => this.#beforeCall(),
    });
    return this.#calls;
  }

  #beforeCall(): void {
    this.#flushTags();
    if (this.#tags !== null) this.#tags = newTagReader(this.#context.profile);
    this.#carryEnvelope();
    this.#closeCurrent();
  }

  #flushTags(): void {
    if (this.#tags !== null) this.#addTagged(this.#tags.finish(), noLogprobs);
  }

  #closeCurrent(): void {
    if (this.#current !== null) this.#output.close(this.#current.item.outputIndex);
    this.#current = null;
  }
}

function newTagReader(profile: Profile): ThinkTagReader | null {
  return profile.thinkTags ? createThinkTagReader(profile) : null;
}
