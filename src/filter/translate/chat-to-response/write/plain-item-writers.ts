import type {
  Annotation,
  ExtensionPart,
  Logprob,
  OutputItem,
  OutputTextPart,
  RefusalPart,
} from '../../../wire/schema/response-resource.ts';
import { encodeReasoningEnvelope } from '../../shared/envelopes.ts';
import { GrowingText, JsonList } from '../../shared/held-bytes.ts';
import { isSummary } from '../../shared/settings.ts';
import { CitationList } from '../read/citations.ts';
import { EnvelopeContents } from './envelope-contents.ts';
import { copiesOfText } from './event-log.ts';
import type { ClosingStatus, OpenItem, WriterParts } from './output.ts';

/** A part whose `content_part.done` was not sent. The lists are made when needed: most texts have neither, and no refusal has. */
interface OpenPart {
  readonly type: (OutputTextPart | RefusalPart)['type'];
  readonly text: GrowingText;
  logprobs: JsonList<Logprob> | null;
  citations: CitationList | null;
}

/** Writes a message from `output_item.added` to `output_item.done`, at the end of the output. */
export class MessageItemWriter implements OpenItem {
  readonly #parts: WriterParts;
  readonly #id: string;
  readonly #index: number;
  readonly #content: (OutputTextPart | RefusalPart | ExtensionPart)[] = [];
  #part: OpenPart | null = null;
  /** True once a tool call follows: the text was not the answer, in which alone SDKs look for structured output. */
  isCommentary = false;

  constructor(parts: WriterParts) {
    this.#parts = parts;
    this.#id = parts.context.newId('msg');
    const begun = { id: this.#id, type: 'message', status: 'in_progress', role: 'assistant', content: [] } as const;
    this.#index = parts.output.add(begun, this);
  }

  /** Adds to the open text part, or opens one. Empty text opens it and sends no delta. */
  text(delta: string, logprobs: readonly Logprob[]): void {
    const open = this.#partOf('output_text');
    if (delta === '') return;
    open.text.append(delta);
    if (logprobs.length > 0) {
      open.logprobs ??= new JsonList(this.#parts.held);
      for (const logprob of logprobs) open.logprobs.push(logprob);
    }
    this.#parts.output.emit({
      type: 'response.output_text.delta',
      item_id: this.#id,
      output_index: this.#index,
      content_index: this.#content.length,
      delta,
      logprobs,
    });
  }

  refusal(delta: string): void {
    this.#partOf('refusal').text.append(delta);
    this.#parts.output.emit({ type: 'response.refusal.delta', ...this.#place(), delta });
  }

  /** Adds citations to the open text part, without repeats; where no text part is open they are lost. */
  cite(citations: readonly Annotation[]): void {
    const part = this.#part;
    if (part?.type !== 'output_text') return;
    part.citations ??= new CitationList(this.#parts.held);
    for (const annotation of citations) {
      if (!part.citations.add(annotation)) continue;
      this.#parts.output.emit({
        type: 'response.output_text.annotation.added',
        ...this.#place(),
        annotation_index: part.citations.all.length - 1,
        annotation,
      });
      this.#parts.output.repeats(copiesOfText * JSON.stringify(annotation).length);
    }
  }

  /** Adds a part of the upstream's own, which is whole at once. `length`: the characters of its JSON. */
  extension(part: ExtensionPart, length: number): void {
    this.#closePart();
    this.#parts.output.emit({ type: 'response.content_part.added', ...this.#place(), part });
    this.#parts.output.emit({ type: 'response.content_part.done', ...this.#place(), part });
    this.#content.push(part);
    this.#parts.held.bytes += length;
    this.#parts.output.repeats(copiesOfText * length);
  }

  written(): string {
    return this.#part?.text.toString() ?? '';
  }

  close(status: ClosingStatus): OutputItem {
    this.#closePart();
    const isFinal = this.#parts.context.toolNames.size > 0 && status === 'completed';
    const phase = this.isCommentary ? 'commentary' : isFinal ? 'final_answer' : null;
    return {
      id: this.#id,
      type: 'message',
      status,
      role: 'assistant',
      content: this.#content,
      ...(phase !== null && { phase }),
    };
  }

  #partOf(type: OpenPart['type']): OpenPart {
    if (this.#part?.type === type) return this.#part;
    this.#closePart();
    const part = type === 'refusal' ? { type, refusal: '' } : { type, text: '', annotations: [], logprobs: [] };
    this.#parts.output.emit({ type: 'response.content_part.added', ...this.#place(), part });
    this.#part = { type, text: new GrowingText(this.#parts.held), logprobs: null, citations: null };
    return this.#part;
  }

  #closePart(): void {
    if (this.#part === null) return;
    const { type, text: written, logprobs: kept, citations } = this.#part;
    const text = written.toString();
    const logprobs = kept?.toBeWritten() ?? [];
    if (type === 'refusal') this.#parts.output.emit({ type: 'response.refusal.done', ...this.#place(), refusal: text });
    else this.#parts.output.emit({ type: 'response.output_text.done', ...this.#place(), text, logprobs });
    const part =
      type === 'refusal' ? { type, refusal: text } : { type, text, annotations: citations?.all ?? [], logprobs };
    this.#parts.output.emit({ type: 'response.content_part.done', ...this.#place(), part });
    this.#content.push(part);
    this.#part = null;
  }

  #place() {
    return { item_id: this.#id, output_index: this.#index, content_index: this.#content.length };
  }
}

/** Writes a reasoning item from `added` to `done`. Which events carry its text is choice D2. */
export class ReasoningItemWriter implements OpenItem {
  readonly #parts: WriterParts;
  readonly #place: { readonly item_id: string; readonly output_index: number };
  readonly #text: GrowingText;
  #envelope: EnvelopeContents | null;

  constructor(parts: WriterParts, envelope: EnvelopeContents | null) {
    const { context, output, held } = parts;
    this.#parts = parts;
    this.#envelope = envelope;
    this.#text = new GrowingText(held);
    const id = context.newId('rs');
    const content = !isSummary(context.reasoningEvents) && { content: [] };
    const begun = { id, type: 'reasoning', status: 'in_progress', summary: [], ...content } as const;
    this.#place = { item_id: id, output_index: output.add(begun, this) };
  }

  text(delta: string): void {
    if (this.#text.isEmpty()) this.#openPart();
    this.#text.append(delta);
    const carrier = this.#parts.context.reasoningEvents;
    const { item_id, output_index } = this.#place;
    if (isSummary(carrier)) {
      const type = 'response.reasoning_summary_text.delta';
      this.#parts.output.emit({ type, item_id, output_index, summary_index: 0, delta });
    } else {
      const type = carrier === 'reasoning' ? 'response.reasoning.delta' : 'response.reasoning_text.delta';
      this.#parts.output.emit({ type, item_id, output_index, content_index: 0, delta });
    }
  }

  written(): string {
    return this.#text.toString();
  }

  envelope(): EnvelopeContents {
    this.#envelope ??= new EnvelopeContents(this.#parts.held, this.#parts.context);
    return this.#envelope;
  }

  close(status: ClosingStatus): OutputItem {
    const text = this.#text.toString();
    if (text !== '') this.#closePart(text);
    const { reasoningEvents: carrier, wantsEncryptedReasoning } = this.#parts.context;
    const envelope = this.#envelope === null && !wantsEncryptedReasoning ? null : this.envelope().take(text);
    return {
      id: this.#place.item_id,
      type: 'reasoning',
      status,
      summary: text !== '' && isSummary(carrier) ? [{ type: 'summary_text', text }] : [],
      // OpenAI's items have no `content`, and some clients show both texts, or the second in place of the answer (BAML).
      ...(text !== '' && carrier !== 'summary' && { content: [{ type: 'reasoning_text', text }] }),
      ...(envelope !== null && { encrypted_content: encodeReasoningEnvelope(envelope) }),
    };
  }

  #openPart(): void {
    const { output, context } = this.#parts;
    if (isSummary(context.reasoningEvents)) {
      const part = { type: 'summary_text', text: '' } as const;
      output.emit({ type: 'response.reasoning_summary_part.added', ...this.#place, summary_index: 0, part });
    } else {
      const part = { type: 'reasoning_text', text: '' } as const;
      output.emit({ type: 'response.content_part.added', ...this.#place, content_index: 0, part });
    }
  }

  #closePart(text: string): void {
    const { output, context } = this.#parts;
    if (isSummary(context.reasoningEvents)) {
      const place = { ...this.#place, summary_index: 0 };
      output.emit({ type: 'response.reasoning_summary_text.done', ...place, text });
      output.emit({ type: 'response.reasoning_summary_part.done', ...place, part: { type: 'summary_text', text } });
    } else {
      const place = { ...this.#place, content_index: 0 };
      const type = context.reasoningEvents === 'reasoning' ? 'response.reasoning.done' : 'response.reasoning_text.done';
      output.emit({ type, ...place, text });
      output.emit({ type: 'response.content_part.done', ...place, part: { type: 'reasoning_text', text } });
    }
  }
}
