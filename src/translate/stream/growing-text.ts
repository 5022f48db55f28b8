/** A text that grows by small pieces and is read once, at its end. */
export interface GrowingText {
  append(piece: string): void;
  isEmpty(): boolean;
  toString(): string;
}

const piecesToFold = 256;

/**
 * With a plain `+=` V8 keeps every piece, and a node for each, until the text is read: several times the text's own size
 * when pieces are tokens, for as long as the stream lasts. Joining some hundred at a time keeps little more than the text.
 */
export function createGrowingText(): GrowingText {
  let text = '';
  let pieces: string[] = [];
  function fold(): string {
    text += pieces.join('');
    pieces = [];
    return text;
  }
  return {
    append(piece) {
      pieces.push(piece);
      if (pieces.length === piecesToFold) fold();
    },
    isEmpty() {
      return text === '' && pieces.length === 0;
    },
    toString: fold,
  };
}
