import { isDigit, OpenString } from './scan.ts';

/** Rewrites `120000.0` as `120000` in the JSON of an object that comes in pieces: Grok writes it, and Codex's tools refuse it (codex#33452). */
export class WholeNumbers {
  readonly #onRepair: () => void;
  readonly #string = new OpenString();
  #state: 'start' | 'between' | 'string' | 'number' | 'fraction' | 'no_object' = 'start';
  #heldBack = '';

  constructor(onRepair: () => void) {
    this.#onRepair = onRepair;
  }

  push(text: string): string {
    let out = '';
    let from = 0;
    for (let at = 0; at < text.length; at++) {
      if (this.#state === 'string') {
        at = this.#string.end(text, at);
        if (at === -1) break;
        this.#state = 'between';
        if (at === text.length) break;
      }
      const code = text.charCodeAt(at);
      if (this.#state === 'fraction') {
        if (code === 0x30) {
          this.#heldBack += '0';
          continue;
        }
        out += this.#endFraction(text.charAt(at));
        from = at;
      }
      if (this.#state === 'number' && code === 0x2e) {
        out += text.slice(from, at);
        this.#heldBack = '.';
        this.#state = 'fraction';
        continue;
      }
      this.#read(code);
    }
    return this.#state === 'fraction' ? out : out + text.slice(from);
  }

  /** Returns the text that is held back where the last piece ended within a number. */
  finish(): string {
    const heldBack = this.#heldBack;
    this.#heldBack = '';
    return heldBack;
  }

  /** Returns the held-back zeros, unless the next character shows that the number has ended. */
  #endFraction(next: string): string {
    const isWhole = this.#heldBack.length > 1 && /[,}\]\s]/.test(next);
    const heldBack = isWhole ? '' : this.#heldBack;
    this.#heldBack = '';
    // The rest of a number with another fraction has no second point.
    this.#state = 'between';
    if (isWhole) this.#onRepair();
    return heldBack;
  }

  #read(code: number): void {
    if (this.#state === 'start') {
      if (code === 0x7b) this.#state = 'between';
      else if (String.fromCharCode(code).trim() !== '') this.#state = 'no_object';
    } else if (this.#state === 'number' || this.#state === 'between') {
      if (code === 0x22) this.#state = 'string';
      else this.#state = isDigit(code) || code === 0x2d ? 'number' : 'between';
    }
  }
}

/** Rewrites arguments that are not cut. */
export function withWholeNumbers(text: string): string {
  if (!text.includes('.0')) return text;
  const numbers = new WholeNumbers(() => {});
  return numbers.push(text) + numbers.finish();
}
