import { OpenString } from './scan.ts';

type State = 'start' | 'inside' | 'string' | 'whole' | 'other';

/** Finds the end of JSON that arrives in pieces, in linear time. Validity is not checked. */
export class JsonEnd {
  readonly #string = new OpenString();
  #depth = 0;
  #state: State;
  readonly #of: 'object' | 'string' | 'any';

  /** `of`: JSON that begins with an object or a string ends with its closing brace or quote, `any` JSON with its last bracket. */
  constructor(of: 'object' | 'string' | 'any') {
    this.#of = of;
    this.#state = of === 'any' ? 'inside' : 'start';
  }

  /** Reads the next piece as text. Returns the offset behind the JSON; -1 while it is incomplete. */
  push(text: string): number {
    let at = 0;
    while (at < text.length && this.#state !== 'whole') {
      if (this.#state === 'string') {
        at = this.#string.end(text, at);
        if (at === -1) return -1;
        this.#state = this.#of === 'string' ? 'whole' : 'inside';
      } else this.#read(text.charCodeAt(at++));
    }
    return this.#state === 'whole' ? at : -1;
  }

  copy(): JsonEnd {
    const copy = new JsonEnd(this.#of);
    copy.#depth = this.#depth;
    copy.#state = this.#state;
    copy.#string.isEscaped = this.#string.isEscaped;
    return copy;
  }

  /** Reads the next piece as UTF-8, of which Latin-1 has the same brackets, quotes and backslashes. */
  pushBytes(bytes: Uint8Array): void {
    this.push(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1'));
  }

  isWhole(): boolean {
    return this.#state === 'whole';
  }

  #read(code: number): void {
    if (this.#state === 'start') {
      if (code === 0x7b && this.#of === 'object') {
        this.#state = 'inside';
        this.#depth = 1;
      } else if (code === 0x22 && this.#of === 'string') this.#state = 'string';
      else if (String.fromCharCode(code).trim() !== '') this.#state = 'other';
    } else if (this.#state === 'inside') {
      if (code === 0x22) this.#state = 'string';
      else if (code === 0x7b || code === 0x5b) this.#depth += 1;
      else if (code === 0x7d || code === 0x5d) {
        this.#depth -= 1;
        if (this.#depth <= 0) this.#state = this.#of === 'any' || code === 0x7d ? 'whole' : 'other';
      }
    }
  }
}
