import type { OutputItem } from '../../wire/schema/response-resource.ts';
import { GrowingText } from '../kept.ts';
import { EnvelopeContents } from './envelope-contents.ts';
import type { ClosingStatus, OpenItem, WriterParts } from './output.ts';
import { type ReasoningExtras, reasoningItemOf } from './reasoning-item.ts';

/** The parts of a closed item without their text. */
const partsBytes = 200;

/**
 * Writes a reasoning item from `output_item.added` to `output_item.done`, at the end of the output. Which events carry its
 * text is choice D2.
 */
export class ReasoningItemWriter implements OpenItem {
  readonly outputIndex: number;
  readonly #parts: WriterParts;
  readonly #id: string;
  readonly #text: GrowingText;
  #envelope: EnvelopeContents | null;

  /** `envelope` holds what came before the item did. */
  constructor(parts: WriterParts, envelope: EnvelopeContents | null) {
    const { context, output } = parts;
    this.#parts = parts;
    this.#envelope = envelope;
    output.kept.bytes += partsBytes;
    this.#text = new GrowingText(output.kept);
    this.#id = context.newId('rs');
    const content = context.reasoningEvents !== 'summary' && { content: [] };
    const begun = { id: this.#id, type: 'reasoning', status: 'in_progress', summary: [], ...content } as const;
    this.outputIndex = output.add(begun, this);
  }

  /** Adds to the text. */
  text(delta: string): void {
    if (this.#text.isEmpty()) this.#openPart();
    this.#text.append(delta);
    const carrier = this.#parts.context.reasoningEvents;
    if (carrier === 'summary') {
      this.#parts.log.emit({
        type: 'response.reasoning_summary_text.delta',
        item_id: this.#id,
        output_index: this.outputIndex,
        summary_index: 0,
        delta,
      });
      return;
    }
    const type = carrier === 'reasoning' ? 'response.reasoning.delta' : 'response.reasoning_text.delta';
    this.#parts.log.emit({ type, ...this.#inContent(), delta });
  }

  /** What the item carries back to the upstream beside its text. */
  envelope(): EnvelopeContents {
    this.#envelope ??= new EnvelopeContents(this.#parts.output.kept, this.#parts.context);
    return this.#envelope;
  }

  close(status: ClosingStatus): OutputItem {
    const text = this.#text.toString();
    if (text !== '') this.#closePart(text);
    const extras = this.#envelope?.extras() ?? noExtras;
    this.#envelope?.clear();
    const item = reasoningItemOf({ id: this.#id, status, text, ...extras }, this.#parts.context);
    this.#parts.output.kept.bytes += item.encrypted_content?.length ?? 0;
    return item;
  }

  #inSummary() {
    return { item_id: this.#id, output_index: this.outputIndex, summary_index: 0 };
  }

  #inContent() {
    return { item_id: this.#id, output_index: this.outputIndex, content_index: 0 };
  }

  #openPart(): void {
    if (this.#parts.context.reasoningEvents === 'summary') {
      const part = { type: 'summary_text', text: '' } as const;
      this.#parts.log.emit({ type: 'response.reasoning_summary_part.added', ...this.#inSummary(), part });
    } else {
      const part = { type: 'reasoning_text', text: '' } as const;
      this.#parts.log.emit({ type: 'response.content_part.added', ...this.#inContent(), part });
    }
  }

  #closePart(text: string): void {
    const carrier = this.#parts.context.reasoningEvents;
    if (carrier === 'summary') {
      const part = { type: 'summary_text', text } as const;
      this.#parts.log.emit({ type: 'response.reasoning_summary_text.done', ...this.#inSummary(), text });
      this.#parts.log.emit({ type: 'response.reasoning_summary_part.done', ...this.#inSummary(), part });
    } else {
      const part = { type: 'reasoning_text', text } as const;
      const type = carrier === 'reasoning' ? 'response.reasoning.done' : 'response.reasoning_text.done';
      this.#parts.log.emit({ type, ...this.#inContent(), text });
      this.#parts.log.emit({ type: 'response.content_part.done', ...this.#inContent(), part });
    }
  }
}

const noExtras: ReasoningExtras = { details: [], blocks: [], fields: {} };
