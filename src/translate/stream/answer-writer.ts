import type { ApiError } from '../../schema/api-error.ts';
import { type Loose, objectOf, textOf } from '../../schema/chat-completion.ts';
import type { Logprob, OutputItem, UrlCitation } from '../../schema/response-resource.ts';
import { type CitationList, createCitationList } from '../citations.ts';
import { namelessCall, signatureOf } from '../completion-calls.ts';
import { contentOf } from '../content-parts.ts';
import type { ResponseContext } from '../context.ts';
import { reasoningOf } from '../reasoning-source.ts';
import { createThinkTagReader, type ThinkTagReader, type ThinkTagTexts } from '../think-tags.ts';
import type { EventLog } from './event-log.ts';
import { type MessageItem, openMessage } from './message-item.ts';
import { type ClosingStatus, createOutput } from './output.ts';
import { openReasoning, type ReasoningItem } from './reasoning-item.ts';
import { createToolCalls } from './tool-calls.ts';

/** What a chunk says beside its delta. */
export interface Beside {
  readonly logprobs: readonly Logprob[];
  readonly citations: readonly UrlCitation[];
  /** The chunk has a `finish_reason`. */
  readonly isLast: boolean;
}

/** Writes the output items of one answer as its deltas arrive. */
export interface AnswerWriter {
  /** Errors are the model's: a call that is not allowed. */
  add(delta: Loose, beside: Beside): ApiError | null;
  /** More text of the message that is open. False, and nothing is done, if none is, or the text must be looked into. */
  addText(text: string): boolean;
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

/**
 * At most one message or reasoning item is open, and whatever else opens closes it; calls stay open to the end, since
 * servers interleave them. Grammar: `docs/answers.md` §3.2, actions: §3.6.
 */
export function createAnswerWriter(log: EventLog, context: ResponseContext): AnswerWriter {
  const output = createOutput(log);
  const calls = createToolCalls({ log, output, context, beforeCall });
  let current: Current | null = null;
  let hadMessage = false;
  let tags = newTagReader();
  /** White space before any text: kept back, because before calls it means nothing. */
  let space = '';
  let spaceLogprobs: Logprob[] = [];
  /** Citations that came before any message, until one has text. */
  let early: CitationList | null = createCitationList();
  /** For the envelope of the next reasoning item. */
  let details: Loose[] = [];
  let signatures: { signature: string; callId: () => string }[] = [];

  function add(delta: Loose, beside: Beside): ApiError | null {
    const reasoning = reasoningOf(delta);
    if (reasoning.details.length > 0) addDetails(reasoning.details);
    if (reasoning.text !== '') {
      // A server with a field for it leaves no tags in the text.
      tags = null;
      reason(reasoning.text);
    }
    const content = contentOf(delta['content']);
    readText(content.text, beside);
    if (delta['audio'] != null) readText(textOf(objectOf(delta['audio'])?.['transcript']), beside);
    refuse(textOf(delta['refusal']) || content.refusal);
    if (beside.citations.length > 0) cite(beside.citations);
    const signature = signatureOf(delta);
    if (signature !== '') sign({ signature, callId: () => '' });
    for (const ofCall of calls.gather(delta)) sign(ofCall);
    return calls.send();
  }

  function reason(text: string): void {
    if (text !== '') reasoningItem().text(text);
  }

  function reasoningItem(): ReasoningItem {
    if (current?.type === 'reasoning') return current.item;
    closeCurrent();
    const item = openReasoning(log, output, context);
    item.addDetails(details);
    for (const { callId, signature } of signatures) item.addSignature(callId, signature);
    details = [];
    signatures = [];
    current = { type: 'reasoning', item };
    return item;
  }

  function addDetails(entries: readonly Loose[]): void {
    if (current?.type === 'reasoning') current.item.addDetails(entries);
    else for (const entry of entries) details.push(entry);
  }

  function sign(signed: { signature: string; callId: () => string }): void {
    if (current?.type === 'reasoning') current.item.addSignature(signed.callId, signed.signature);
    else signatures.push(signed);
  }

  /** What must go back to the upstream needs an item to travel in, even without text. */
  function carryEnvelope(): void {
    if (signatures.length > 0 || (details.length > 0 && context.wantsEncryptedReasoning)) reasoningItem();
  }

  function readText(content: string, beside: Beside): void {
    if (content === '') return;
    if (tags === null) text(content, beside.logprobs, beside.isLast);
    else tell(tags.push(content), beside.logprobs);
  }

  function tell({ thinking, text: answer }: ThinkTagTexts, logprobs: readonly Logprob[]): void {
    reason(thinking);
    if (answer !== '') text(answer, logprobs, false);
  }

  function text(delta: string, logprobs: readonly Logprob[], isLast: boolean): void {
    if (current?.type === 'message') {
      const repeatsAll = isLast && context.profile.dedupeTail && delta === current.item.written();
      if (!repeatsAll) current.item.text(delta, logprobs);
    } else if (delta.trim() === '') {
      space += delta;
      for (const logprob of logprobs) spaceLogprobs.push(logprob);
    } else {
      const isFirst = !calls.hasSent();
      if (isFirst && space !== '') messageItem().text(space, spaceLogprobs);
      space = '';
      spaceLogprobs = [];
      begin(delta, logprobs);
    }
  }

  /** The first text of a message. */
  function begin(delta: string, logprobs: readonly Logprob[]): void {
    const message = messageItem();
    message.text(delta, logprobs);
    if (early !== null) message.cite(early.all);
    early = null;
  }

  function messageItem(): MessageItem {
    if (current?.type === 'message') return current.item;
    closeCurrent();
    const item = openMessage(log, output, context.newId);
    current = { type: 'message', item };
    hadMessage = true;
    return item;
  }

  function refuse(delta: string): void {
    if (delta === '') return;
    flushTags();
    messageItem().refusal(delta);
  }

  /** Citations of a message that is closed are late: a finished item does not change. Before any message they wait. */
  function cite(more: readonly UrlCitation[]): void {
    if (current?.type === 'message') current.item.cite(more);
    else if (!hadMessage) early?.add(more);
  }

  function beforeCall(): void {
    flushTags();
    if (tags !== null) tags = newTagReader();
    carryEnvelope();
    closeCurrent();
  }

  function newTagReader(): ThinkTagReader | null {
    return context.profile.thinkTags ? createThinkTagReader(context.profile) : null;
  }

  function flushTags(): void {
    if (tags !== null) tell(tags.finish(), noLogprobs);
  }

  function closeCurrent(): void {
    if (current !== null) output.close(current.item.outputIndex);
    current = null;
  }

  return {
    add,
    addText(text) {
      if (tags !== null || current?.type !== 'message') return false;
      current.item.text(text, noLogprobs);
      return true;
    },
    cite,
    finish() {
      flushTags();
      const error = calls.finish();
      if (error !== null) return error;
      carryEnvelope();
      if (output.size() > 0) return null;
      if (space !== '') begin(space, spaceLogprobs);
      return output.size() === 0 && calls.nameless() > 0 ? namelessCall() : null;
    },
    ensureOutput() {
      if (output.size() === 0) messageItem().text('', noLogprobs);
    },
    close(lastStatus) {
      flushTags();
      output.closeAll(lastStatus);
    },
    isEmpty() {
      return output.size() === 0 && space === '';
    },
    items() {
      return output.items();
    },
    nameless() {
      return calls.nameless();
    },
  };
}
