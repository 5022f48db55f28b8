import type {
  Logprob,
  OutputItem,
  OutputTextPart,
  RefusalPart,
  UrlCitation,
} from '../../wire/schema/response-resource.ts';
import { CitationList } from '../chat/citations.ts';
import { GrowingText, JsonList } from '../kept.ts';
import type { ClosingStatus, OpenItem, WriterParts } from './output.ts';

type OpenPart = OpenText | OpenRefusal;

interface OpenRefusal {
  readonly type: 'refusal';
  readonly text: GrowingText;
}

interface OpenText {
  readonly type: 'output_text';
  readonly text: GrowingText;
  /** Made when the first comes, like the citations: most texts have neither. */
  logprobs: JsonList<Logprob> | null;
  citations: CitationList | null;
}

/** A part without its texts, once it is closed. */
const partBytes = 60;

const noLogprobs: readonly Logprob[] = [];

/** Writes a message from `output_item.added` to `output_item.done`, at the end of the output. */
export class MessageItemWriter implements OpenItem {
  readonly outputIndex: number;
  readonly #parts: WriterParts;
  readonly #id: string;
  readonly #content: (OutputTextPart | RefusalPart)[] = [];
  #part: OpenPart | null = null;
  #isCommentary = false;

  constructor(parts: WriterParts) {
    this.#parts = parts;
    this.#id = parts.context.newId('msg');
    const begun = { id: this.#id, type: 'message', status: 'in_progress', role: 'assistant', content: [] } as const;
    this.outputIndex = parts.output.add(begun, this);
  }

  /** Adds to the text part, and opens one if none is open. Empty text opens it and sends no delta. */
  text(delta: string, logprobs: readonly Logprob[]): void {
    const open = this.#openText();
    if (delta === '') return;
    open.text.append(delta);
    if (logprobs.length > 0) {
      open.logprobs ??= new JsonList(this.#parts.output.kept);
      for (const logprob of logprobs) open.logprobs.push(logprob);
    }
    this.#parts.log.emit({
      type: 'response.output_text.delta',
      item_id: this.#id,
      output_index: this.outputIndex,
      content_index: this.#content.length,
      delta,
      logprobs: logprobs.length > 0 ? logprobs : noLogprobs,
    });
  }

  /** Adds to the refusal. It is a part of its own: an open text part is closed. */
  refusal(delta: string): void {
    this.#openRefusal().text.append(delta);
    this.#parts.log.emit({ type: 'response.refusal.delta', ...this.#place(), delta });
  }

  /** Adds citations to the open text part; without one they are lost. Repeats are left out. */
  cite(citations: readonly UrlCitation[]): void {
    const part = this.#part;
    if (part?.type !== 'output_text') return;
    part.citations ??= new CitationList(this.#parts.output.kept);
    let index = part.citations.all().length;
    for (const annotation of part.citations.add(citations))
      this.#parts.log.emit({
        type: 'response.output_text.annotation.added',
        ...this.#place(),
        annotation_index: index++,
        annotation,
      });
  }

  /** The text of the open part. */
  written(): string {
    return this.#part?.text.toString() ?? '';
  }

  /** A tool call follows: the text was not the answer. SDKs look for structured output in the answer alone. */
  markCommentary(): void {
    this.#isCommentary = true;
  }

  close(status: ClosingStatus): OutputItem {
    this.#closePart();
    const isFinal = this.#parts.context.toolNames.size > 0 && status === 'completed';
    const phase = this.#isCommentary ? 'commentary' : isFinal ? 'final_answer' : null;
    return {
      id: this.#id,
      type: 'message',
      status,
      role: 'assistant',
      content: this.#content,
      ...(phase !== null && { phase }),
    };
  }

  #openText(): OpenText {
    if (this.#part?.type === 'output_text') return this.#part;
    const text = new GrowingText(this.#parts.output.kept);
    const opened: OpenText = { type: 'output_text', text, logprobs: null, citations: null };
    this.#open(opened, { type: 'output_text', text: '', annotations: [], logprobs: [] });
    return opened;
  }

  #openRefusal(): OpenPart {
    if (this.#part?.type === 'refusal') return this.#part;
    const opened: OpenPart = { type: 'refusal', text: new GrowingText(this.#parts.output.kept) };
    this.#open(opened, { type: 'refusal', refusal: '' });
    return opened;
  }

  #open(opened: OpenPart, part: OutputTextPart | RefusalPart): void {
    this.#closePart();
    this.#parts.log.emit({ type: 'response.content_part.added', ...this.#place(), part });
    this.#part = opened;
  }

  #closePart(): void {
    const part = this.#part;
    if (part === null) return;
    const closed = part.type === 'output_text' ? this.#closeText(part) : this.#closeRefusal(part);
    this.#parts.log.emit({ type: 'response.content_part.done', ...this.#place(), part: closed });
    this.#content.push(closed);
    this.#parts.output.kept.bytes += partBytes;
    this.#part = null;
  }

  #closeText({ text: given, logprobs: kept, citations }: OpenText): OutputTextPart {
    const text = given.toString();
    const logprobs = kept?.toBeWritten() ?? noLogprobs;
    this.#parts.log.emit({ type: 'response.output_text.done', ...this.#place(), text, logprobs });
    return { type: 'output_text', text, annotations: citations?.all() ?? [], logprobs };
  }

  #closeRefusal({ text }: OpenRefusal): RefusalPart {
    const refusal = text.toString();
    this.#parts.log.emit({ type: 'response.refusal.done', ...this.#place(), refusal });
    return { type: 'refusal', refusal };
  }

  /** That of the open part. */
  #place() {
    return { item_id: this.#id, output_index: this.outputIndex, content_index: this.#content.length };
  }
}
