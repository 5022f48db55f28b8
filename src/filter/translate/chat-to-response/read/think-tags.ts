import type { Profile } from '../../../upstream/profile.ts';

/** A piece of `content`, split into thinking and text. Both may be `''`. */
export interface ThinkTagTexts {
  readonly thinking: string;
  readonly text: string;
}

/** The tags of Qwen, DeepSeek and most others, of Gemini, Seed, MiniMax and Mistral. */
const tagPairs: readonly (readonly [opening: string, closing: string])[] = [
  ...['think', 'thinking', 'thought', 'reasoning', 'seed:think', 'mm:think'].map(
    (name) => [`<${name}>`, `</${name}>`] as const,
  ),
  ['[THINK]', '[/THINK]'],
];
const allClosingTags = tagPairs.map(([, closing]) => closing);

/** The channels of gpt-oss, where a server does not read its Harmony format. The last channel is the answer. */
const harmonyAnswer = '<|channel|>final<|message|>';
const harmonyThinking = '<|channel|>analysis<|message|>';
const harmonyStart = '<|start|>assistant';
const harmonyEnds = [`<|end|>${harmonyStart}${harmonyAnswer}`, harmonyStart + harmonyAnswer, harmonyAnswer];

/** The tags that may open an answer, each with those that end its thinking; null if the answer follows at once, as after a closing tag. */
const openings = new Map<string, readonly string[] | null>([
  ...tagPairs.map(([opening, closing]) => [opening, [closing]] as const),
  ...allClosingTags.map((closing) => [closing, null] as const),
  ...['', harmonyStart].flatMap((start): [string, readonly string[] | null][] => [
    [start + harmonyThinking, harmonyEnds],
    [start + harmonyAnswer, null],
  ]),
]);
const openingTags = [...openings.keys()];

const maxLeadingSpace = 256;

type Begun =
  | {
      readonly at: 'thinking';
      readonly opening: string;
      readonly closingTags: readonly string[];
      readonly isFirst: boolean;
    }
  | { readonly at: 'answer'; readonly newlinesToSkip: number };

/**
 * Separates `<think>…</think>` at the start of `content` from the answer after it (docs/answers.md §1.4, B7), for servers that leave
 * it there. Tags further on are text: the model may be writing about them. With `implicitThink` the template has opened the block already,
 * and everything up to a closing tag is thinking. The markup includes the line feed after the opening tag, the one before the closing
 * tag, and up to two after it.
 */
export class ThinkTagReader {
  readonly #implicitThink: boolean;
  #state: { readonly at: 'start' } | Begun = { at: 'start' };
  #buffered = '';

  constructor({ implicitThink }: Pick<Profile, 'implicitThink'>) {
    this.#implicitThink = implicitThink;
  }

  /** Takes the next piece of `content`, cut anywhere. Only what may be part of a tag is buffered, with the white space before it. */
  push(piece: string): ThinkTagTexts {
    if (this.isThrough()) return { thinking: '', text: piece };
    this.#buffered += piece;
    // A tag may follow white space, and scanning all white space again with each piece would be quadratic.
    const isShort = this.#buffered.length <= maxLeadingSpace;
    if (this.#state.at === 'start' && isShort && piece.trim() === '') return { thinking: '', text: '' };
    return this.#take(false);
  }

  readAll(content: string): ThinkTagTexts {
    const begun = this.push(content);
    const rest = this.finish();
    return { thinking: begun.thinking + rest.thinking, text: begun.text + rest.text };
  }

  /** Ends the content and returns what was buffered. An unclosed block stays thinking. */
  finish(): ThinkTagTexts {
    return this.#take(true);
  }

  expects(piece: string): boolean {
    if (this.#state.at !== 'start') return this.#state.at === 'thinking';
    return readOpening(this.#buffered + piece, this.#implicitThink, false)?.state.at !== 'answer';
  }

  /** Returns the content so far, until `push` has returned some of it; then null. */
  unshown(): string | null {
    if (this.#state.at === 'start') return this.#buffered;
    return this.#state.at === 'thinking' && this.#state.isFirst ? this.#state.opening + this.#buffered : null;
  }

  isInBlock(): boolean {
    return this.#state.at === 'thinking';
  }

  /** Can only unchanged text of the answer follow? */
  isThrough(): boolean {
    return this.#state.at === 'answer' && this.#state.newlinesToSkip === 0;
  }

  /** Takes from the buffer what is surely thinking or text; with `isEnd`, all of it. */
  #take(isEnd: boolean): ThinkTagTexts {
    let thinking = '';
    if (this.#state.at === 'start') {
      const opened = readOpening(this.#buffered, this.#implicitThink, isEnd);
      if (opened === null) return { thinking, text: '' };
      this.#buffered = opened.rest;
      this.#state = opened.state;
    }
    if (this.#state.at === 'thinking') {
      const { closingTags, isFirst } = this.#state;
      const buffered = this.#buffered;
      const { end, closingTag } = findFirst(buffered, closingTags);
      const keptBack = isEnd ? 0 : Math.max(...closingTags.map((tag) => countTagStart(buffered, tag)));
      const decided = buffered.slice(0, end >= 0 ? end : buffered.length - keptBack);
      thinking = isFirst && decided !== '' ? decided.replace(/^\n/, '') : decided;
      if (end < 0) {
        this.#buffered = buffered.slice(decided.length);
        if (decided !== '') this.#state = { ...this.#state, isFirst: false };
        return { thinking, text: '' };
      }
      thinking = thinking.replace(/\n$/, '');
      this.#buffered = buffered.slice(end + closingTag.length);
      this.#state = { at: 'answer', newlinesToSkip: 2 };
    }
    const { newlinesToSkip } = this.#state;
    const skipped = newlinesToSkip === 0 ? 0 : this.#buffered.slice(0, newlinesToSkip).search(/[^\n]|$/);
    const text = this.#buffered.slice(skipped);
    this.#state = { at: 'answer', newlinesToSkip: text === '' ? newlinesToSkip - skipped : 0 };
    this.#buffered = '';
    return { thinking, text };
  }
}

/** The state after the start, or null while the text may be the beginning of a tag. White space before a tag belongs to it. */
function readOpening(text: string, implicitThink: boolean, isEnd: boolean): { state: Begun; rest: string } | null {
  const trimmed = text.trimStart();
  const tag = openingTags.find((candidate) => trimmed.startsWith(candidate));
  const isShort = text.length <= maxLeadingSpace;
  if (tag === undefined && !isEnd && isShort && openingTags.some((candidate) => candidate.startsWith(trimmed)))
    return null;
  const rest = tag === undefined ? text : trimmed.slice(tag.length);
  const closingTags = tag === undefined ? (implicitThink ? allClosingTags : null) : (openings.get(tag) ?? null);
  if (closingTags !== null) return { state: { at: 'thinking', opening: tag ?? '', closingTags, isFirst: true }, rest };
  const newlinesToSkip = tag !== undefined && allClosingTags.includes(tag) ? 2 : 0;
  return { state: { at: 'answer', newlinesToSkip }, rest };
}

function findFirst(text: string, tags: readonly string[]): { end: number; closingTag: string } {
  let first = { end: -1, closingTag: '' };
  for (const closingTag of tags) {
    const end = text.indexOf(closingTag);
    if (end >= 0 && (first.end < 0 || end < first.end)) first = { end, closingTag };
  }
  return first;
}

/** The number of characters at the end that may be the start of the closing tag, with the line feed before it. */
function countTagStart(text: string, closingTag: string): number {
  let length = Math.min(closingTag.length - 1, text.length);
  while (length > 0 && !closingTag.startsWith(text.slice(text.length - length))) length--;
  return text[text.length - length - 1] === '\n' ? length + 1 : length;
}

export function endsBlock(text: string): boolean {
  return allClosingTags.some((tag) => text.includes(tag)) || text.includes(harmonyAnswer);
}
