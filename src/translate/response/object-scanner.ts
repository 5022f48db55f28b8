/**
 * Tells when the text of a JSON object is whole, looking at each character once: a call's arguments are checked with every
 * piece while others wait for them, and parsing all of them each time would take quadratic time. Whether it is valid is not
 * checked, since no more of it will come either way.
 */
export class ObjectScanner {
  #depth = 0;
  #state: 'start' | 'inside' | 'string' | 'escape' | 'whole' | 'other' = 'start';

  push(text: string): void {
    for (let at = 0; at < text.length; at++) this.#read(text[at] ?? '');
  }

  /** Has the brace that closes the object come? False of anything that is no object. */
  isWhole(): boolean {
    return this.#state === 'whole';
  }

  #read(character: string): void {
    switch (this.#state) {
      case 'start':
        if (character === '{') {
          this.#state = 'inside';
          this.#depth = 1;
        } else if (character.trim() !== '') this.#state = 'other';
        return;
      case 'inside':
        if (character === '"') this.#state = 'string';
        else if (character === '{' || character === '[') this.#depth += 1;
        else if (character === '}' || character === ']') {
          this.#depth -= 1;
          if (this.#depth === 0) this.#state = 'whole';
        }
        return;
      case 'string':
        if (character === '\\') this.#state = 'escape';
        else if (character === '"') this.#state = 'inside';
        return;
      case 'escape':
        this.#state = 'string';
        return;
      case 'whole':
      case 'other':
    }
  }
}
