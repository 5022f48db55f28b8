import { textOf } from '../../../../formats/json/loose.ts';
import type { LooseMessage } from '../../../wire/schema/chat-completion.ts';
import { GrowingText } from '../../shared/held-bytes.ts';
import { readContentTexts } from '../read/content-parts.ts';
import { readReasoning } from '../read/reasoning-source.ts';
import { endsBlock, ThinkTagReader, type ThinkTagTexts } from '../read/think-tags.ts';
import type { WriterParts } from './output.ts';
import type { ReasoningItemWriter } from './plain-item-writers.ts';
import type { PlainItems } from './plain-items.ts';

/**
 * Where reasoning came first, in a field or in tags: in the other place it may be a copy (docs/answers.md §1.4), until both were compared or a
 * call comes. A block in tags behind a field is held back until its end. A field behind a block is compared as it comes.
 */
type First =
  | { readonly in: 'nothing' }
  | { readonly in: 'field'; readonly block: GrowingText }
  | { readonly in: 'tags'; readonly copy: LateCopy };

const nothing: First = { in: 'nothing' };

/** Separates reasoning, which comes in tags, in a field of its own or in both, from the text of an answer, and writes each to its item. */
export class ReasoningInText {
  readonly #parts: WriterParts;
  readonly #items: PlainItems;
  /** Null once all text is the answer's. */
  #tags: ThinkTagReader | null;
  #first: First = nothing;

  constructor(parts: WriterParts, items: PlainItems) {
    this.#parts = parts;
    this.#items = items;
    this.#tags = this.#createTags();
  }

  isThrough(): boolean {
    return this.#tags?.isThrough() ?? true;
  }

  /** Can reasoning of the field go to its item unread? Its first piece cannot, nor one that may repeat a block in tags. */
  isFieldPlain(): boolean {
    return this.#first.in === 'field' || (this.#first.in === 'nothing' && this.#tags === null);
  }

  reason(text: string): void {
    if (text === '') return;
    if (this.#first.in === 'tags') {
      this.#showLate(this.#first.copy, this.#first.copy.push(text));
      return;
    }
    // MiniMax's gateways leave the reasoning in the text too, in tags at its start.
    const unshown = this.#first.in === 'field' ? null : (this.#tags?.unshown() ?? null);
    if (unshown !== null) {
      const block = new GrowingText(this.#parts.held);
      if (unshown !== '') block.append(unshown);
      this.#first = { in: 'field', block };
    }
    this.#write(text);
  }

  read(content: string, isLast: boolean): void {
    if (content === '') return;
    if (this.#tags === null) this.#items.text(content, isLast);
    else {
      if (this.#first.in === 'field') this.#first.block.append(content);
      this.#addTagged(this.#tags.push(content));
    }
  }

  /** Takes a piece of text that is marked as a thought. Gemini writes `<thought>` before the first and `</thought>` before the answer. */
  readThought(content: string): void {
    if (this.#tags?.expects(content)) this.#addTagged(this.#tags.push(content));
    else {
      this.flush();
      this.#tags = null;
      this.#write(content);
    }
  }

  /** Takes the whole text and the reasoning in a field. Returns the answer in the text. */
  readWhole(content: string, reasoning: string): string {
    const isBlock = reasoning === '' || endsBlock(content);
    const { thinking, text } =
      this.#tags === null || !isBlock ? { thinking: '', text: content } : this.#tags.readAll(content);
    this.#tags = null;
    this.#endBlock();
    this.reason(reasoning);
    if (reasoning === '' || !isCopy(thinking, reasoning)) this.#writeOther(thinking);
    return text;
  }

  /** Returns a whole message without the thinking in its text, where the deltas had their thinking in the text too. */
  withoutTagged(message: LooseMessage): LooseMessage {
    if (this.#tags === null || readReasoning(message).text !== '') return message;
    this.flush();
    this.#tags = null;
    const { text, refusal } = readContentTexts(message.content);
    const content = new ThinkTagReader(this.#parts.context.profile).readAll(text).text;
    return { ...message, content, refusal: textOf(message.refusal) || refusal };
  }

  /** Forgets text that was held back, since a whole message has it too. With `isBegun` there are items already. */
  forget(isBegun: boolean): void {
    if (this.#first.in === 'field') this.#first.block.clear();
    if (!isBegun || this.#tags?.unshown() != null) this.#tags = this.#createTags();
  }

  beforeCall(): void {
    this.flush();
    if (this.#first.in === 'tags') this.#first = nothing;
    // `auto` reads tags at the very start of the answer alone.
    const { profile } = this.#parts.context;
    if (this.#tags !== null) this.#tags = profile.thinkTags === 'on' ? new ThinkTagReader(profile) : null;
    this.#items.beforeCall();
  }

  /** Writes what was held back, before something else follows or the answer ends. */
  flush(): void {
    if (this.#tags === null) return;
    const block = this.#first.in === 'field' ? this.#first.block : null;
    const heldBack = block?.toString() ?? '';
    const rest = this.#tags.finish();
    // Beside a field, a block that does not end is the answer, and is shown even where the reasoning has the same words.
    if (heldBack !== '' && rest.text === '' && !endsBlock(heldBack)) {
      block?.clear();
      this.#tags = null;
      this.#items.text(heldBack, false);
      return;
    }
    this.#addTagged(rest);
    this.#endBlock();
    this.#endCopy();
  }

  #createTags(): ThinkTagReader | null {
    const { profile } = this.#parts.context;
    return profile.thinkTags === 'off' ? null : new ThinkTagReader(profile);
  }

  #write(reasoning: string): void {
    if (reasoning !== '') this.#items.reasoning().text(reasoning);
  }

  /** Writes another thought, apart from the one before it. */
  #writeOther(reasoning: string): void {
    if (reasoning === '') return;
    const item = this.#items.reasoning();
    item.text(item.written() === '' ? reasoning : `\n\n${reasoning}`);
  }

  #addTagged({ thinking, text: answer }: ThinkTagTexts): void {
    // Thinking that comes first cannot be a copy, and is shown as it comes.
    if (this.#first.in !== 'field' && thinking !== '') {
      const item = this.#items.reasoning();
      item.text(thinking);
      if (this.#first.in === 'nothing')
        this.#first = { in: 'tags', copy: new LateCopy(new GrowingText(this.#parts.held), item) };
    }
    if (this.#tags?.isInBlock() !== true) this.#endBlock();
    if (answer === '') return;
    this.#endCopy();
    this.#items.text(answer, false);
    if (this.#parts.context.profile.thinkTags === 'auto' && this.#tags?.isThrough()) this.#tags = null;
  }

  /** Ends the block in tags: reasoning of the field that came beside it is shown, unless it is a copy. */
  #endBlock(): void {
    if (this.#first.in === 'tags') this.#showLate(this.#first.copy, this.#first.copy.endBlock());
  }

  #showLate({ isOther }: LateCopy, text: string): void {
    if (text === '') return;
    this.#first = nothing;
    if (isOther) this.#writeOther(text);
    else this.#write(text);
  }

  /** Ends a block that may be a copy of the field: it is shown unless the field had the same text. */
  #endCopy(): void {
    if (this.#first.in !== 'field') return;
    const { block } = this.#first;
    const copy = block.toString();
    if (copy === '') return;
    block.clear();
    this.#first = nothing;
    const { thinking } = new ThinkTagReader(this.#parts.context.profile).readAll(copy);
    if (!isCopy(thinking, this.#items.reasoningSoFar())) this.#writeOther(thinking);
  }
}

/**
 * Compares a field's reasoning with a block in tags that came first. While the block is open the field is held back; then it is compared
 * piece by piece. White space around the field or the block does not count.
 */
class LateCopy {
  readonly #heldBack: GrowingText;
  readonly #shown: ReasoningItemWriter;
  /** The text of the block; null while the block is open. */
  #block: string | null = null;
  /** The number of characters of the block that the field has repeated. */
  #repeated = 0;
  /** The field is other text than the block, and does not only continue it. */
  isOther = false;

  constructor(heldBack: GrowingText, shown: ReasoningItemWriter) {
    this.#heldBack = heldBack;
    this.#shown = shown;
  }

  /** Takes a piece of the field. Returns the text to be shown, which is `''` while the field only copies the block. */
  push(piece: string): string {
    if (this.#block === null) {
      this.#heldBack.append(piece);
      return '';
    }
    const text = this.#repeated === 0 ? piece.trimStart() : piece;
    if (this.#block.startsWith(text, this.#repeated)) {
      this.#repeated += text.length;
      return '';
    }
    const rest = this.#block.slice(this.#repeated);
    this.isOther = !text.startsWith(rest);
    if (this.isOther) return this.#block.slice(0, this.#repeated) + text;
    this.#repeated = this.#block.length;
    const more = text.slice(rest.length);
    return more.trim() === '' ? '' : more;
  }

  endBlock(): string {
    if (this.#block !== null) return '';
    this.#block = this.#shown.written().trim();
    const heldBack = this.#heldBack.toString();
    this.#heldBack.clear();
    return this.push(heldBack);
  }
}

function isCopy(text: string, shown: string): boolean {
  return shown.includes(text.trim());
}
