import type { Profile } from '../../upstream/profile.ts';

/** Text that came through the reader, told apart. Both may be `''`. */
export interface ThinkTagTexts {
  readonly thinking: string;
  readonly text: string;
}

export interface ThinkTagReader {
  /** The next piece of `content`, cut anywhere. Holds back no more than what may be part of a tag. */
  push(piece: string): ThinkTagTexts;
  /** The end of the content: what was held back. An unclosed block stays thinking. */
  finish(): ThinkTagTexts;
  /** All that still comes is text of the answer, as it is. */
  isThrough(): boolean;
}

const openingTags = ['<think>', '<thinking>', '<seed:think>'] as const;

/** Past the start. */
type Begun =
  | { readonly at: 'thinking'; readonly closingTag: string; readonly isFirst: boolean }
  | { readonly at: 'answer'; readonly newlinesToSkip: number };

/**
 * Tells `<think>…</think>` at the start of `content` from the answer after it (docs/answers.md §2.4 row 6, B7), for servers that
 * do not do it themselves. Tags further on are text: the model may be writing about them. With `implicitThink` the
 * template has opened the block already, and everything up to the closing tag is thinking.
 *
 * The line feed after the opening tag, the one before the closing tag and up to two after it belong to the markup.
 */
export function createThinkTagReader({ implicitThink }: Pick<Profile, 'implicitThink'>): ThinkTagReader {
  let state: { readonly at: 'start' } | Begun = { at: 'start' };
  let held = '';

  /** Takes from `held` what can be told by now; with `isEnd`, all of it. */
  function take(isEnd: boolean): ThinkTagTexts {
    let thinking = '';
    if (state.at === 'start') {
      const opened = openedBy(held, implicitThink, isEnd);
      if (opened === null) return { thinking, text: '' };
      held = opened.rest;
      state = opened.state;
    }
    if (state.at === 'thinking') {
      const end = held.indexOf(state.closingTag);
      const told = end >= 0 ? held.slice(0, end) : held.slice(0, held.length - (isEnd ? 0 : heldBackBy(held, state)));
      thinking = state.isFirst && told !== '' ? told.replace(/^\n/, '') : told;
      if (end < 0) {
        held = held.slice(told.length);
        if (told !== '') state = { ...state, isFirst: false };
        return { thinking, text: '' };
      }
      thinking = thinking.replace(/\n$/, '');
      held = held.slice(end + state.closingTag.length);
      state = { at: 'answer', newlinesToSkip: 2 };
    }
    const { newlinesToSkip } = state;
    const skipped = newlinesToSkip === 0 ? 0 : (/^\n{0,2}/.exec(held.slice(0, newlinesToSkip))?.[0].length ?? 0);
    const text = held.slice(skipped);
    state = { at: 'answer', newlinesToSkip: text === '' ? newlinesToSkip - skipped : 0 };
    held = '';
    return { thinking, text };
  }

  return {
    push(piece) {
      if (state.at === 'answer' && state.newlinesToSkip === 0) return { thinking: '', text: piece };
      held += piece;
      // White space decides nothing; to look at all of it again with each piece would cost its square.
      if (state.at === 'start' && piece.trim() === '') return { thinking: '', text: '' };
      return take(false);
    },
    finish: () => take(true),
    isThrough() {
      return state.at === 'answer' && state.newlinesToSkip === 0;
    },
  };
}

/** The state after the start, or null while it cannot be told yet. White space before the tag belongs to it. */
function openedBy(text: string, implicitThink: boolean, isEnd: boolean): { state: Begun; rest: string } | null {
  const trimmed = text.trimStart();
  const tag = openingTags.find((candidate) => trimmed.startsWith(candidate));
  if (tag !== undefined)
    return {
      state: { at: 'thinking', closingTag: `</${tag.slice(1)}`, isFirst: true },
      rest: trimmed.slice(tag.length),
    };
  if (!isEnd && openingTags.some((candidate) => candidate.startsWith(trimmed))) return null;
  if (implicitThink) return { state: { at: 'thinking', closingTag: '</think>', isFirst: true }, rest: text };
  return { state: { at: 'answer', newlinesToSkip: 0 }, rest: text };
}

/** How many characters at the end may be the start of the closing tag, with the line feed before it. */
function heldBackBy(text: string, { closingTag }: { readonly closingTag: string }): number {
  let length = Math.min(closingTag.length - 1, text.length);
  while (length > 0 && !closingTag.startsWith(text.slice(text.length - length))) length--;
  return text[text.length - length - 1] === '\n' ? length + 1 : length;
}
