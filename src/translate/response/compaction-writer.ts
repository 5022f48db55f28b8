import type { RetainedBytes } from '../../memory/retained-bytes.ts';
import { ApiError } from '../../schema/api-error.ts';
import type { LooseMessage } from '../../schema/chat-completion.ts';
import type { OutputItem } from '../../schema/response-resource.ts';
import { contentOf } from '../chat/content-parts.ts';
import type { DeltaField } from '../chat/fast-delta.ts';
import type { Outcome } from '../chat/finish.ts';
import { reasoningOf } from '../chat/reasoning-source.ts';
import { newTagReader, type ThinkTagReader } from '../chat/think-tags.ts';
import { encodeCompactionEnvelope } from '../compaction-envelope.ts';
import type { ResponseContext } from '../context.ts';
import type { EventLog } from './event-log.ts';
import { GrowingText } from './growing-text.ts';
import { Output } from './output.ts';
import type { AnswerWriter } from './output-writer.ts';

/**
 * Writes the output of a compaction: one `compaction` item with the text of the answer. Reasoning, calls and citations
 * are of no use in a summary, and the item says nothing before it is whole.
 */
export class CompactionWriter implements AnswerWriter {
  readonly #context: ResponseContext;
  readonly #output: Output;
  readonly #text: GrowingText;
  readonly #modelOf: () => string | null;
  #tags: ThinkTagReader | null;

  constructor(log: EventLog, context: ResponseContext, retained: RetainedBytes, modelOf: () => string | null) {
    this.#context = context;
    this.#output = new Output(log, retained);
    this.#text = new GrowingText(retained);
    this.#modelOf = modelOf;
    this.#tags = newTagReader(context.profile);
  }

  add(message: LooseMessage): null {
    // A server with a field for reasoning leaves no tags in the text.
    if (reasoningOf(message).text !== '') this.#tags = null;
    this.#append(contentOf(message.content).text);
    return null;
  }

  addWhole(message: LooseMessage): null {
    return this.add(message);
  }

  grow(field: DeltaField, text: string): boolean {
    if (field.name === 'content') this.#append(text);
    else if (field.name !== 'arguments') this.#tags = null;
    return true;
  }

  cite(): void {}

  unrunnableCall(): null {
    return null;
  }

  /** The answer is whole: an error if there is no summary in it. */
  finish(): ApiError | null {
    if (this.#tags !== null) this.#text.append(this.#tags.finish().text);
    this.#tags = null;
    return this.#text.toString().trim() === '' ? noSummary() : null;
  }

  /** Sends the item. */
  ensureOutput(): void {
    const model = this.#modelOf();
    const envelope = { text: this.#text.toString().trim(), ...(model === null ? {} : { model }) };
    const item: OutputItem = {
      id: this.#context.newId('cmp'),
      type: 'compaction',
      encrypted_content: encodeCompactionEnvelope(envelope),
    };
    this.#output.register(this.#output.add(item), {
      isCall: false,
      isWhole: () => true,
      isCut: () => false,
      close: () => item,
    });
  }

  close(): void {
    this.#output.closeAll('completed');
  }

  fail(): void {
    this.close();
  }

  hasCutCall(): false {
    return false;
  }

  isEmpty(): boolean {
    return this.#text.isEmpty();
  }

  hasItems(): boolean {
    return this.#output.size() > 0;
  }

  items(): readonly OutputItem[] {
    return this.#output.items();
  }

  nameless(): number {
    return 0;
  }

  #append(text: string): void {
    if (text === '') return;
    const kept = this.#tags === null ? text : this.#tags.push(text).text;
    if (kept !== '') this.#text.append(kept);
  }
}

/**
 * How a compaction ends: a summary that reached its limit is kept, since clients give up a session whose compaction is
 * incomplete; one that was filtered is none.
 */
export function compactionOutcome(outcome: Outcome): Outcome {
  if (outcome.status !== 'incomplete') return outcome;
  if (outcome.reason === 'max_output_tokens') return { status: 'completed' };
  const message = 'The upstream’s content filter stopped the summary of the conversation.';
  return {
    status: 'failed',
    error: new ApiError(message, { status: 502, type: 'model_error', code: 'content_filter' }),
  };
}

function noSummary(): ApiError {
  return new ApiError('The model gave no summary of the conversation.', {
    status: 502,
    type: 'model_error',
    code: 'empty_summary',
  });
}
