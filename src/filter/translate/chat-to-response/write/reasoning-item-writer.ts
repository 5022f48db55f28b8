import type { OutputItem } from '../../../wire/schema/response-resource.ts';
import { GrowingText } from '../../shared/held-bytes.ts';
import { isSummary } from '../../shared/settings.ts';
import { EnvelopeContents } from './envelope-contents.ts';
import type { ClosingStatus, OpenItem, WriterParts } from './output.ts';
import { reasoningItemOf } from './reasoning-item.ts';

/** Writes a reasoning item from `added` to `done`. Which events carry its text is choice D2. */
export class ReasoningItemWriter implements OpenItem {
  readonly outputIndex: number;
  readonly #parts: WriterParts;
  readonly #place: { readonly item_id: string; readonly output_index: number };
  readonly #text: GrowingText;
  #envelope: EnvelopeContents | null;

  /** `envelope` holds what came before the item did. */
  constructor(parts: WriterParts, envelope: EnvelopeContents | null) {
    const { context, output, log } = parts;
    this.#parts = parts;
    this.#envelope = envelope;
    this.#text = new GrowingText(log.held);
    const id = context.newId('rs');
    const content = !isSummary(context.reasoningEvents) && { content: [] };
    const begun = { id, type: 'reasoning', status: 'in_progress', summary: [], ...content } as const;
    this.outputIndex = output.add(begun, this);
    this.#place = { item_id: id, output_index: this.outputIndex };
  }

  /** Adds to the text. */
  text(delta: string): void {
    if (this.#text.isEmpty()) this.#openPart();
    this.#text.append(delta);
    const carrier = this.#parts.context.reasoningEvents;
    if (isSummary(carrier)) {
      this.#parts.log.emit({
        type: 'response.reasoning_summary_text.delta',
        item_id: this.#place.item_id,
        output_index: this.outputIndex,
        summary_index: 0,
        delta,
      });
      return;
    }
    const type = carrier === 'reasoning' ? 'response.reasoning.delta' : 'response.reasoning_text.delta';
    this.#parts.log.emit({ type, ...this.#place, content_index: 0, delta });
  }

  /** The text so far. */
  written(): string {
    return this.#text.toString();
  }

  /** Returns what the item carries back to the upstream beside its text. */
  envelope(): EnvelopeContents {
    this.#envelope ??= new EnvelopeContents(this.#parts.log.held, this.#parts.context);
    return this.#envelope;
  }

  close(status: ClosingStatus): OutputItem {
    const text = this.#text.toString();
    if (text !== '') this.#closePart(text);
    const extras = this.#envelope?.extras() ?? { details: [], blocks: [], fields: {} };
    this.#envelope?.clear();
    return reasoningItemOf({ id: this.#place.item_id, status, text, ...extras }, this.#parts.context);
  }

  #openPart(): void {
    const { log, context } = this.#parts;
    if (isSummary(context.reasoningEvents)) {
      const part = { type: 'summary_text', text: '' } as const;
      log.emit({ type: 'response.reasoning_summary_part.added', ...this.#place, summary_index: 0, part });
    } else {
      const part = { type: 'reasoning_text', text: '' } as const;
      log.emit({ type: 'response.content_part.added', ...this.#place, content_index: 0, part });
    }
  }

  #closePart(text: string): void {
    const { log, context } = this.#parts;
    if (isSummary(context.reasoningEvents)) {
      const place = { ...this.#place, summary_index: 0 };
      log.emit({ type: 'response.reasoning_summary_text.done', ...place, text });
      log.emit({ type: 'response.reasoning_summary_part.done', ...place, part: { type: 'summary_text', text } });
    } else {
      const place = { ...this.#place, content_index: 0 };
      const type = context.reasoningEvents === 'reasoning' ? 'response.reasoning.done' : 'response.reasoning_text.done';
      log.emit({ type, ...place, text });
      log.emit({ type: 'response.content_part.done', ...place, part: { type: 'reasoning_text', text } });
    }
  }
}
