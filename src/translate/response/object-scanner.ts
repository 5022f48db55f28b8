/**
 * Tells when the text of a JSON object is whole, looking at each character once: a call's arguments are checked with every
 * piece while others wait for them, and parsing all of them each time would take quadratic time. Whether it is valid is not
 * checked, since no more of it will come either way.
 */
export class ObjectScanner {
  #depth = 0;
  #state: 'start' | 'inside' | 'string' | 'escape' | 'whole' | 'other' = 'start';

  /** Where in that piece the text after the object begins; -1 while the object is not whole. */
  push(text: string): number {
    for (let at = 0; at < text.length; at++) {
      if (this.#state === 'whole') return at;
      this.#read(text[at] ?? '');
    }
    return this.#state === 'whole' ? text.length : -1;
  }

  /** One that has read the same. */
  copy(): ObjectScanner {
    const copy = new ObjectScanner();
    copy.#depth = this.#depth;
    copy.#state = this.#state;
    return copy;
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

/** May another object begin in `text`, behind one that ends there or in what was `written` last? A cheap test. */
export function mayBeginObject(text: string, written: string): boolean {
  if (!text.includes('{')) return false;
  if (/\}\s*\{/.test(text)) return true;
  const last = written.trimEnd();
  return text.trimStart().startsWith('{') && written !== '' && (last === '' || last.endsWith('}'));
}

/** The objects of a text that is nothing but objects behind each other; else the text itself. */
export function objectsIn(text: string): readonly string[] {
  const objects: string[] = [];
  let rest = text;
  while (mayBeginObject(rest, '')) {
    const end = new ObjectScanner().push(rest);
    const next = end === -1 ? '' : rest.slice(end).trimStart();
    if (!next.startsWith('{') || isEmptyObject(rest.slice(0, end))) break;
    objects.push(rest.slice(0, end));
    rest = next;
  }
  return [...objects, rest];
}

/** Such an object in front of others is a placeholder. */
export function isEmptyObject(text: string): boolean {
  return /^\s*\{\s*\}\s*$/.test(text);
}
