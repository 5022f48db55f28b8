import type { Loose } from '../../schema/chat-completion.ts';
import type { OutputItem } from '../../schema/response-resource.ts';
import { mergeReasoningDetails } from '../chat/reasoning-source.ts';
import type { ResponseContext } from '../context.ts';
import type { EventLog } from './event-log.ts';
import { createGrowingText } from './growing-text.ts';
import type { ClosingStatus, OpenItem, Output } from './output.ts';
import { reasoningItemOf } from './reasoning-item.ts';

/** A reasoning item that is being written. */
export interface ReasoningItem {
  readonly outputIndex: number;
  text(delta: string): void;
  /** `reasoning_details` entries, as sent: they go back to the upstream in the envelope. */
  addDetails(details: readonly Loose[]): void;
  /** A Gemini thought signature; `callId` gives the `call_id` it belongs to, `''` for the message's own. */
  addSignature(callId: () => string, signature: string): void;
}

/** Opens a reasoning item at the end of the output. Its text goes where decision D2 says. */
export function openReasoning(log: EventLog, output: Output, context: ResponseContext): ReasoningItem {
  const id = context.newId('rs');
  const outputIndex = output.add({
    id,
    type: 'reasoning',
    status: 'in_progress',
    summary: [],
    ...(context.reasoningEvents !== 'summary' && { content: [] }),
  });
  const item = new OpenReasoning(log, context, id, outputIndex);
  output.register(outputIndex, item);
  return item;
}

class OpenReasoning implements ReasoningItem, OpenItem {
  readonly outputIndex: number;
  readonly #log: EventLog;
  readonly #context: ResponseContext;
  readonly #id: string;
  readonly #written = createGrowingText();
  readonly #details: Loose[] = [];
  readonly #signatures: { callId: () => string; signature: string }[] = [];

  constructor(log: EventLog, context: ResponseContext, id: string, outputIndex: number) {
    this.#log = log;
    this.#context = context;
    this.#id = id;
    this.outputIndex = outputIndex;
  }

  text(delta: string): void {
    if (this.#written.isEmpty()) this.#openPart();
    this.#written.append(delta);
    switch (this.#context.reasoningEvents) {
      case 'summary':
        this.#log.emit({
          type: 'response.reasoning_summary_text.delta',
          item_id: this.#id,
          output_index: this.outputIndex,
          summary_index: 0,
          delta,
        });
        return;
      case 'reasoning_text':
        this.#log.emit({ type: 'response.reasoning_text.delta', ...this.#inContent(), delta });
        return;
      case 'reasoning':
        this.#log.emit({ type: 'response.reasoning.delta', ...this.#inContent(), delta });
        return;
    }
  }

  addDetails(details: readonly Loose[]): void {
    for (const detail of details) this.#details.push(detail);
  }

  addSignature(callId: () => string, signature: string): void {
    this.#signatures.push({ callId, signature });
  }

  close(status: ClosingStatus): OutputItem {
    const text = this.#written.toString();
    if (text !== '') this.#closePart(text);
    return reasoningItemOf(
      {
        id: this.#id,
        status,
        text,
        details: mergeReasoningDetails(this.#details),
        signatures: Object.fromEntries(this.#signatures.map(({ callId, signature }) => [callId(), signature])),
      },
      this.#context,
    );
  }

  #inSummary() {
    return { item_id: this.#id, output_index: this.outputIndex, summary_index: 0 };
  }

  #inContent() {
    return { item_id: this.#id, output_index: this.outputIndex, content_index: 0 };
  }

  #openPart(): void {
    if (this.#context.reasoningEvents === 'summary')
      this.#log.emit({
        type: 'response.reasoning_summary_part.added',
        ...this.#inSummary(),
        part: { type: 'summary_text', text: '' },
      });
    else
      this.#log.emit({
        type: 'response.content_part.added',
        ...this.#inContent(),
        part: { type: 'reasoning_text', text: '' },
      });
  }

  #closePart(text: string): void {
    const carrier = this.#context.reasoningEvents;
    if (carrier === 'summary') {
      const part = { type: 'summary_text' as const, text };
      this.#log.emit({ type: 'response.reasoning_summary_text.done', ...this.#inSummary(), text });
      this.#log.emit({ type: 'response.reasoning_summary_part.done', ...this.#inSummary(), part });
      return;
    }
    const type = carrier === 'reasoning' ? 'response.reasoning.done' : 'response.reasoning_text.done';
    this.#log.emit({ type, ...this.#inContent(), text });
    const part = { type: 'reasoning_text' as const, text };
    this.#log.emit({ type: 'response.content_part.done', ...this.#inContent(), part });
  }
}
