import { closingQuote } from './scan.ts';

type State = 'start' | 'inside' | 'string' | 'escape' | 'whole' | 'other';

/**
 * Tells when JSON that arrives in pieces, cut anywhere, is whole, looking at each character once: to parse all of it each
 * time would take quadratic time. Whether it is valid is not checked, since no more of it will come either way.
 */
export class JsonEnd {
  #depth = 0;
  #state: State;

  /** What it ends with: the brace of an object that it must begin with, or the last bracket of whatever there is. */
  constructor(of: 'object' | 'any') {
    this.#state = of === 'object' ? 'start' : 'inside';
  }

  /** Takes the next piece as text. Where in it begins what follows the JSON; -1 while that is not whole. */
  push(text: string): number {
    for (let at = 0; at < text.length; at++) {
      if (this.#state === 'whole') return at;
      this.#read(text.charCodeAt(at));
    }
    return this.#state === 'whole' ? text.length : -1;
  }

  /** One that has read the same. */
  copy(): JsonEnd {
    const copy = new JsonEnd('any');
    copy.#depth = this.#depth;
    copy.#state = this.#state;
    return copy;
  }

  /** Takes the next piece as UTF-8; a piece of text and one of bytes are not mixed. */
  pushBytes(bytes: Uint8Array): void {
    let closes = true;
    for (let at = 0; at < bytes.length && this.#state !== 'whole'; at++) {
      this.#read(bytes[at] ?? 0);
      // What is long in an answer is its text: a string that closes in this piece is stepped over.
      if (this.#state !== 'string' || !closes) continue;
      const end = closingQuote(bytes, at);
      closes = end < bytes.length;
      if (!closes) continue;
      this.#state = 'inside';
      at = end;
    }
  }

  /** Has the bracket that closes it come? */
  isWhole(): boolean {
    return this.#state === 'whole';
  }

  #read(code: number): void {
    switch (this.#state) {
      case 'start':
        if (code === 0x7b) {
          this.#state = 'inside';
          this.#depth = 1;
        } else if (String.fromCharCode(code).trim() !== '') this.#state = 'other';
        return;
      case 'inside':
        if (code === 0x22) this.#state = 'string';
        else if (code === 0x7b || code === 0x5b) this.#depth += 1;
        else if (code === 0x7d || code === 0x5d) {
          this.#depth -= 1;
          if (this.#depth <= 0) this.#state = 'whole';
        }
        return;
      case 'string':
        if (code === 0x5c) this.#state = 'escape';
        else if (code === 0x22) this.#state = 'inside';
        return;
      case 'escape':
        this.#state = 'string';
        return;
      case 'whole':
      case 'other':
    }
  }
}
