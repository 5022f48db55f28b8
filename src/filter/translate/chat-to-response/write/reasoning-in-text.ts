import { textOf } from '../../../../formats/json/loose.ts';
import type { LooseMessage } from '../../../wire/schema/chat-completion.ts';
import { GrowingText } from '../../shared/held-bytes.ts';
import { contentOf } from '../read/content-parts.ts';
import { reasoningOf } from '../read/reasoning-source.ts';
import { endsBlock, newTagReader, ThinkTagReader, type ThinkTagTexts } from '../read/think-tags.ts';
import type { CurrentItem } from './current-item.ts';
import { LateCopy } from './late-copy.ts';
import type { WriterParts } from './output.ts';
import { ReasoningItemWriter } from './reasoning-item-writer.ts';

/**
 * Tells the reasoning in an answer's text from the text itself. Reasoning is in tags, in a field of its own, or in both: then one is a copy
 * of the other (docs/answers.md §1.4), whichever comes first. Reasoning goes to its item, the rest to `answer`.
 */
export class ReasoningInText {
  readonly #parts: WriterParts;
  readonly #item: CurrentItem;
  readonly #answer: (text: string, isLast: boolean) => void;
  #tags: ThinkTagReader | null;
  /** The text of a block in tags that may be a copy of a field's reasoning, which came before it; null where no field has come first. */
  #copy: GrowingText | null = null;
  /** Compares a field's reasoning with that in tags before it; null where no tags came first, and once the field says more than they did. */
  #lateCopy: LateCopy | null = null;

  constructor(parts: WriterParts, item: CurrentItem, answer: (text: string, isLast: boolean) => void) {
    this.#parts = parts;
    this.#item = item;
    this.#answer = answer;
    this.#tags = newTagReader(parts.context.profile);
  }

  /** Text that follows is the answer's, unread. */
  isThrough(): boolean {
    return this.#tags?.isThrough() ?? true;
  }

  /** Whether reasoning of the field can go to its item unread. The first piece cannot, nor one that may repeat what was in tags. */
  isFieldPlain(): boolean {
    return this.#lateCopy === null && (this.#tags === null || this.#copy !== null);
  }

  /** Takes reasoning of a field. */
  reason(text: string): void {
    if (text === '') return;
    if (this.#lateCopy !== null) {
      this.#showLate(this.#lateCopy.push(text));
      return;
    }
    // MiniMax's gateways leave it in the text too, in tags at its start.
    const unshown = this.#copy === null ? (this.#tags?.unshown() ?? null) : null;
    if (unshown !== null) {
      this.#copy = new GrowingText(this.#parts.log.held);
      if (unshown !== '') this.#copy.append(unshown);
    }
    this.#write(text);
  }

  /** Takes text, cut anywhere. */
  read(content: string, isLast: boolean): void {
    if (content === '') return;
    if (this.#tags === null) this.#answer(content, isLast);
    else {
      this.#copy?.append(content);
      this.#addTagged(this.#tags.push(content));
    }
  }

  /** Takes text that is said to be thought. Gemini writes `<thought>` before the first of them and `</thought>` before the answer. */
  readThought(content: string): void {
    if (this.#tags?.expects(content)) {
      this.#addTagged(this.#tags.push(content));
      return;
    }
    this.flush();
    this.#tags = null;
    this.#write(content);
  }

  /** Takes the whole text, and the reasoning of its field. Gives the answer in it. */
  readWhole(content: string, reasoning: string): string {
    const isBlock = reasoning === '' || endsBlock(content);
    const { thinking, text } =
      this.#tags === null || !isBlock ? { thinking: '', text: content } : readToEnd(this.#tags, content);
    this.#tags = null;
    this.#endBlock();
    this.reason(reasoning);
    if (reasoning === '' || !isCopy(thinking, reasoning)) this.#writeOther(thinking);
    return text;
  }

  /** Gives a whole message without the thinking in its text, if that of the deltas was there too. */
  withoutTagged(message: LooseMessage): LooseMessage {
    if (this.#tags === null || reasoningOf(message).text !== '') return message;
    this.flush();
    this.#tags = null;
    const { text, refusal } = contentOf(message.content);
    const content = readToEnd(new ThinkTagReader(this.#parts.context.profile), text).text;
    return { ...message, content, refusal: textOf(message.refusal) || refusal };
  }

  /** Forgets text that was held back: a whole message has it too. `isBegun`: there are items already. */
  forget(isBegun: boolean): void {
    this.#copy?.clear();
    if (!isBegun || this.#tags?.unshown() != null) this.#tags = newTagReader(this.#parts.context.profile);
  }

  /** A call follows: writes what was held back. */
  beforeCall(): void {
    this.flush();
    this.#lateCopy = null;
    const { profile } = this.#parts.context;
    // `auto` looks at the very start of the answer alone.
    if (this.#tags !== null) this.#tags = profile.thinkTags === 'on' ? newTagReader(profile) : null;
  }

  /** Writes what was held back: something else follows, or nothing. */
  flush(): void {
    if (this.#tags === null) return;
    const heldBack = this.#copy?.toString() ?? '';
    const rest = this.#tags.finish();
    // Beside a field a block that does not end is no block. The answer may be words of the reasoning, and is shown all the same.
    if (heldBack !== '' && rest.text === '' && !endsBlock(heldBack)) {
      this.#copy?.clear();
      this.#tags = null;
      this.#answer(heldBack, false);
      return;
    }
    this.#addTagged(rest);
    this.#endBlock();
    this.#endCopy();
  }

  #write(reasoning: string): void {
    if (reasoning !== '') this.#item.reasoning().text(reasoning);
  }

  /** Writes another thought than the one before it, apart from it. */
  #writeOther(reasoning: string): void {
    if (reasoning === '') return;
    const item = this.#item.reasoning();
    item.text(item.written() === '' ? reasoning : `\n\n${reasoning}`);
  }

  #addTagged({ thinking, text: answer }: ThinkTagTexts): void {
    if (this.#copy === null) this.#reasonInTags(thinking);
    if (this.#tags?.isInBlock() !== true) this.#endBlock();
    if (answer === '') return;
    this.#endCopy();
    this.#answer(answer, false);
    if (this.#parts.context.profile.thinkTags === 'auto' && this.#tags?.isThrough()) this.#tags = null;
  }

  /** Thinking from tags: shown as it comes, since what comes first cannot be a copy. */
  #reasonInTags(thinking: string): void {
    if (thinking === '') return;
    const item = this.#item.reasoning();
    item.text(thinking);
    this.#lateCopy ??= new LateCopy(this.#parts.log.held, () => item.written());
  }

  /** The block of thinking is over: a field's reasoning that came beside it and is no copy is shown. */
  #endBlock(): void {
    this.#showLate(this.#lateCopy?.endBlock() ?? '');
  }

  #showLate(text: string): void {
    if (text === '') return;
    const isOther = this.#lateCopy?.isOther === true;
    this.#lateCopy = null;
    if (isOther) this.#writeOther(text);
    else this.#write(text);
  }

  /** Ends the copy: text that stood in tags is shown unless the field had it. */
  #endCopy(): void {
    const copy = this.#copy?.toString() ?? '';
    if (copy === '') return;
    this.#copy?.clear();
    // What follows is the answer, which is no copy of anything.
    this.#copy = null;
    const { thinking } = readToEnd(new ThinkTagReader(this.#parts.context.profile), copy);
    const item = this.#item.current;
    if (!isCopy(thinking, item instanceof ReasoningItemWriter ? item.written() : '')) this.#writeOther(thinking);
  }
}

function isCopy(text: string, shown: string): boolean {
  return shown.includes(text.trim());
}

function readToEnd(tags: ThinkTagReader, content: string): ThinkTagTexts {
  const begun = tags.push(content);
  const rest = tags.finish();
  return { thinking: begun.thinking + rest.thinking, text: begun.text + rest.text };
}
