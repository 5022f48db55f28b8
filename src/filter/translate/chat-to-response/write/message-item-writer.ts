import type {
  Annotation,
  ExtensionPart,
  Logprob,
  OutputItem,
  OutputTextPart,
  RefusalPart,
} from '../../../wire/schema/response-resource.ts';
import { GrowingText, JsonList } from '../../shared/held-bytes.ts';
import { CitationList } from '../read/citations.ts';
import type { ClosingStatus, OpenItem, WriterParts } from './output.ts';

interface OpenPart {
  readonly type: (OutputTextPart | RefusalPart)['type'];
  readonly text: GrowingText;
  /** Made when the first comes, like the citations: most texts have neither, and no refusal has. */
  logprobs: JsonList<Logprob> | null;
  citations: CitationList | null;
}

/** Writes a message from `output_item.added` to `output_item.done`, at the end of the output. */
export class MessageItemWriter implements OpenItem {
  readonly outputIndex: number;
  readonly #parts: WriterParts;
  readonly #id: string;
  readonly #content: (OutputTextPart | RefusalPart | ExtensionPart)[] = [];
  #part: OpenPart | null = null;
  /** A tool call follows: the text was not the answer. SDKs look for structured output in the answer alone. */
  isCommentary = false;

  constructor(parts: WriterParts) {
    this.#parts = parts;
    this.#id = parts.context.newId('msg');
    const begun = { id: this.#id, type: 'message', status: 'in_progress', role: 'assistant', content: [] } as const;
    this.outputIndex = parts.output.add(begun, this);
  }

  /** Adds to the text part, and opens one if none is open. Empty text opens it and sends no delta. */
  text(delta: string, logprobs: readonly Logprob[]): void {
    const open = this.#partOf('output_text');
    if (delta === '') return;
    open.text.append(delta);
    if (logprobs.length > 0) {
      open.logprobs ??= new JsonList(this.#parts.log.held);
      for (const logprob of logprobs) open.logprobs.push(logprob);
    }
    this.#parts.log.emit({
      type: 'response.output_text.delta',
      item_id: this.#id,
      output_index: this.outputIndex,
      content_index: this.#content.length,
      delta,
      logprobs,
    });
  }

  /** Adds to the refusal. It is a part of its own: an open text part is closed. */
  refusal(delta: string): void {
    this.#partOf('refusal').text.append(delta);
    this.#parts.log.emit({ type: 'response.refusal.delta', ...this.#place(), delta });
  }

  /** Adds citations to the open text part; without one they are lost. Repeats are left out. */
  cite(citations: readonly Annotation[]): void {
    const part = this.#part;
    if (part?.type !== 'output_text') return;
    part.citations ??= new CitationList(this.#parts.log.held);
    let index = part.citations.all.length;
    for (const annotation of part.citations.add(citations))
      this.#parts.log.emit({
        type: 'response.output_text.annotation.added',
        ...this.#place(),
        annotation_index: index++,
        annotation,
      });
  }

  /** Adds a part of the upstream's own, of that many characters of JSON: it is whole at once. */
  extension(part: ExtensionPart, length: number): void {
    this.#closePart();
    this.#parts.log.emit({ type: 'response.content_part.added', ...this.#place(), part });
    this.#parts.log.emit({ type: 'response.content_part.done', ...this.#place(), part });
    this.#content.push(part);
    this.#parts.log.held.bytes += length;
  }

  /** The text of the open part. */
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

  /** The open part, if it is of that type; otherwise a new one. */
  #partOf(type: OpenPart['type']): OpenPart {
    if (this.#part?.type === type) return this.#part;
    this.#closePart();
    const part = type === 'refusal' ? { type, refusal: '' } : { type, text: '', annotations: [], logprobs: [] };
    this.#parts.log.emit({ type: 'response.content_part.added', ...this.#place(), part });
    this.#part = { type, text: new GrowingText(this.#parts.log.held), logprobs: null, citations: null };
    return this.#part;
  }

  #closePart(): void {
    if (this.#part === null) return;
    const part = this.#closed(this.#part);
    this.#parts.log.emit({ type: 'response.content_part.done', ...this.#place(), part });
    this.#content.push(part);
    this.#part = null;
  }

  #closed({ type, text: written, logprobs: kept, citations }: OpenPart): OutputTextPart | RefusalPart {
    const text = written.toString();
    if (type === 'refusal') {
      this.#parts.log.emit({ type: 'response.refusal.done', ...this.#place(), refusal: text });
      return { type, refusal: text };
    }
    const logprobs = kept?.toBeWritten() ?? [];
    this.#parts.log.emit({ type: 'response.output_text.done', ...this.#place(), text, logprobs });
    return { type, text, annotations: citations?.all ?? [], logprobs };
  }

  #place() {
    return { item_id: this.#id, output_index: this.outputIndex, content_index: this.#content.length };
  }
}
