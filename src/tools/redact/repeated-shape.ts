/** A string that is a value, since no colon follows it, or a number. */
const values = /((?<=[:[,]\s?)(?:"(?:[^"\\]|\\.)*"(?!\s*:)|-?\d[\d.eE+-]*))/;

/** Of one stream: a server that writes every chunk differently is not learned for ever. */
const mostLearned = 64;

/**
 * What the pieces of a stream have in common: nearly all of them repeat the one before but for a text and a number. A piece that
 * differs from one without credentials in nothing but plain values has none either, unless it is a known one.
 *
 * Fast path for `BodyRedactor`, whose search for names takes ten times as long: with `INSPECT=on` it saves a tenth of a token
 * that arrives alone (docs/performance.md).
 */
export class RepeatedShape {
  /** Texts that do not change, between the values that do; empty until a piece has repeated the one before. */
  #fixed: readonly string[] = [];
  /** Texts and values in turn. */
  #last: readonly string[] = [];
  #changes: readonly boolean[] = [];
  #learned = 0;
  /** The last text had the shape, but a value that has to be searched. */
  #isUnusualValue = false;

  /** Whether the text (as Latin-1) has that shape, and no colon in its values: without one, nothing would be found. */
  matches(text: string): boolean {
    const fixed = this.#fixed;
    let at = 0;
    this.#isUnusualValue = false;
    for (let index = 0; index < fixed.length; index += 1) {
      const part = fixed[index] as string;
      if (index > 0) at = part.charCodeAt(0) === quote ? endOfString(text, at) : endOfNumber(text, at);
      this.#isUnusualValue = at === -1;
      // `startsWith` compares one character at a time, `===` many at once.
      if (at === -1 || text.slice(at, at + part.length) !== part) return false;
      at += part.length;
    }
    return at > 0 && at === text.length;
  }

  /** Learns from a piece in which nothing was found. */
  learn(text: string): void {
    if (this.#isUnusualValue || this.#learned === mostLearned) return;
    this.#learned += 1;
    const parts = text.split(values);
    const isAlike =
      parts.length === this.#last.length && parts.every((part, at) => at % 2 === 1 || part === this.#last[at]);
    this.#changes = parts.map((part, at) => isAlike && (this.#changes[at] === true || part !== this.#last[at]));
    this.#last = parts;
    this.#fixed = isAlike ? fixedTexts(parts, this.#changes) : [];
  }
}

/** The quotes of a changing string belong to the texts around it. */
function fixedTexts(parts: readonly string[], changes: readonly boolean[]): string[] {
  const texts = [''];
  for (const [at, part] of parts.entries()) {
    const itsQuote = part.startsWith('"') ? '"' : '';
    texts[texts.length - 1] += changes[at] === true ? itsQuote : part;
    if (changes[at] === true) texts.push(itsQuote);
  }
  return texts;
}

/** The place of the quote that ends the string; -1 for one with a colon, and for one that does not end. */
function endOfString(text: string, from: number): number {
  for (let at = from; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit === quote) return at;
    if (unit === colon) return -1;
    // Skips an escaped quote.
    if (unit === backslash) at += 1;
  }
  return -1;
}

function endOfNumber(text: string, from: number): number {
  let at = from;
  for (let unit = text.charCodeAt(at); isOfNumber(unit); unit = text.charCodeAt(at)) at += 1;
  return at;
}

/** `+`, `-`, `.`, a digit, `E` or `e`. */
function isOfNumber(unit: number): boolean {
  return (unit >= 0x30 && unit <= 0x39) || unit === 0x2d || unit === 0x2e || unit === 0x2b || (unit | 0x20) === 0x65;
}

const quote = 0x22;
const backslash = 0x5c;
const colon = 0x3a;
