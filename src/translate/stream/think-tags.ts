/** A stretch of a message's content, told apart. */
export interface ThinkPiece {
  readonly kind: 'reasoning' | 'text';
  readonly text: string;
}

export interface ThinkSplitter {
  /** Content in, in pieces cut anywhere; what is certain of it out. Holds back no more than a tag's length. */
  push(content: string): ThinkPiece[];
  /** The end of the content: gives what was held. A block that was never closed stays reasoning. */
  finish(): ThinkPiece[];
}

const names = ['think', 'thinking', 'seed:think'] as const;
const openTags: readonly string[] = names.map((name) => `<${name}>`);
const closeTags: readonly string[] = names.map((name) => `</${name}>`);

/**
 * Tells reasoning in `<think>` tags from the text after it, for servers without a reasoning parser (mapping §2.4). Only
 * a block at the very beginning counts: later on, tags are something the model talks about. `implicit`: the chat
 * template has written the opening tag, so the content begins inside the block.
 */
export function createThinkSplitter({ implicit }: { readonly implicit: boolean }): ThinkSplitter {
  let state: 'start' | 'thinking' | 'after' | 'text' = 'start';
  let closing: readonly string[] = closeTags;
  let held = '';
  /** Line feeds that may still be cut off after the block. */
  let trimmable = 2;

  function push(content: string): ThinkPiece[] {
    const pieces: ThinkPiece[] = [];
    held += content;
    if (state === 'start') readStart();
    if (state === 'thinking') readThinking(pieces);
    if (state === 'after') readAfter();
    if (state === 'text') giveText(pieces);
    return pieces;
  }

  function readStart(): void {
    const trimmed = held.trimStart();
    const tag = openTags.findIndex((open) => trimmed.startsWith(open));
    if (tag !== -1) {
      held = trimmed.slice(openTags[tag]?.length);
      closing = closeTags.slice(tag, tag + 1);
      state = 'thinking';
    } else if (!openTags.some((open) => open.startsWith(trimmed))) state = implicit ? 'thinking' : 'text';
  }

  function readThinking(pieces: ThinkPiece[]): void {
    let end = -1;
    let length = 0;
    for (const tag of closing) {
      const at = held.indexOf(tag);
      if (at !== -1 && (end === -1 || at < end)) {
        end = at;
        length = tag.length;
      }
    }
    const certain = end === -1 ? held.length - heldForTag(held) : end;
    if (certain > 0) pieces.push({ kind: 'reasoning', text: held.slice(0, certain) });
    held = held.slice(end === -1 ? certain : end + length);
    if (end !== -1) state = 'after';
  }

  /** Length of the longest end of the text that could be the beginning of a closing tag. */
  function heldForTag(text: string): number {
    const from = text.lastIndexOf('<');
    return from !== -1 && closing.some((tag) => tag.startsWith(text.slice(from))) ? text.length - from : 0;
  }

  function readAfter(): void {
    while (trimmable > 0 && held.startsWith('\n')) {
      held = held.slice(1);
      trimmable -= 1;
    }
    if (held !== '' || trimmable === 0) state = 'text';
  }

  function giveText(pieces: ThinkPiece[]): void {
    if (held !== '') pieces.push({ kind: 'text', text: held });
    held = '';
  }

  return {
    push,
    finish() {
      if (held === '') return [];
      const piece: ThinkPiece = { kind: state === 'thinking' ? 'reasoning' : 'text', text: held };
      held = '';
      return [piece];
    },
  };
}
