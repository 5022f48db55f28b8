import { jsonOf } from '../../../../formats/json/loose.ts';
import type { IntegerPlaces } from '../../shared/context.ts';

const maxDepth = 64;

interface Open {
  readonly isObject: boolean;
  readonly places: IntegerPlaces | null;
  /** The key of the property that comes next or is read. */
  key: string | null;
}

/**
 * Writes `120000.0` as `120000` where a tool's schema has an integer: models write it (Grok, xAI), and Codex's tools refuse it
 * (codex#33452). Takes JSON in pieces cut anywhere. Only what follows the point is held back, until the number ends; `1.5` stays.
 */
export class WholeNumbers {
  readonly #root: IntegerPlaces;
  readonly #onRepair: () => void;
  readonly #open: Open[] = [];
  #state: 'value' | 'key' | 'string' | 'escape' | 'number' | 'fraction' = 'value';
  /** The key that is read; null in any other string. */
  #key: string | null = null;
  #heldBack = '';
  /** Whether the value is nested deeper than any schema that is read: from there on it passes. */
  #isLost = false;

  constructor(root: IntegerPlaces, onRepair: () => void) {
    this.#root = root;
    this.#onRepair = onRepair;
  }

  push(text: string): string {
    if (this.#isLost) return text;
    let out = '';
    let from = 0;
    for (let at = 0; at < text.length; at++) {
      const character = text[at] as string;
      if (this.#state === 'fraction') {
        if (character === '0') {
          this.#heldBack += character;
          continue;
        }
        out += this.#endFraction(character);
        from = at;
      }
      if (this.#state === 'number' && character === '.' && this.#placesHere()?.isInteger) {
        out += text.slice(from, at);
        this.#heldBack = '.';
        this.#state = 'fraction';
        continue;
      }
      this.#read(character);
    }
    return this.#state === 'fraction' ? out : out + text.slice(from);
  }

  /** Returns the text that is still held back: it broke off in a number. */
  finish(): string {
    const heldBack = this.#heldBack;
    this.#heldBack = '';
    return heldBack;
  }

  /** The number has ended, unless that character is a part of it too. */
  #endFraction(next: string): string {
    const isWhole = this.#heldBack.length > 1 && !/[0-9eE]/.test(next);
    const heldBack = isWhole ? '' : this.#heldBack;
    this.#heldBack = '';
    // What is left of a number with another fraction has no second point.
    this.#state = 'number';
    if (isWhole) this.#onRepair();
    return heldBack;
  }

  #read(character: string): void {
    switch (this.#state) {
      case 'string':
        if (character === '"') {
          this.#endString();
          return;
        }
        if (character === '\\') this.#state = 'escape';
        if (this.#key !== null) this.#key += character;
        return;
      case 'escape':
        if (this.#key !== null) this.#key += character;
        this.#state = 'string';
        return;
      case 'number':
      case 'key':
      case 'value':
        this.#readBetween(character);
    }
  }

  #readBetween(character: string): void {
    switch (character) {
      case '"':
        this.#key = this.#state === 'key' ? '' : null;
        this.#state = 'string';
        return;
      case '{':
      case '[':
        if (this.#open.length === maxDepth) this.#isLost = true;
        else this.#open.push({ isObject: character === '{', places: this.#placesHere(), key: null });
        this.#state = character === '{' ? 'key' : 'value';
        return;
      case '}':
      case ']':
        this.#open.pop();
        this.#state = 'value';
        return;
      case ',':
        this.#state = this.#open.at(-1)?.isObject ? 'key' : 'value';
        return;
    }
    if (this.#state === 'value' && /[-0-9]/.test(character)) this.#state = 'number';
  }

  #endString(): void {
    this.#state = 'value';
    const open = this.#open.at(-1);
    if (this.#key !== null && open !== undefined)
      open.key = this.#key.includes('\\') ? String(jsonOf(`"${this.#key}"`) ?? this.#key) : this.#key;
  }

  /** Returns the integer places of the value that is read. */
  #placesHere(): IntegerPlaces | null {
    const open = this.#open.at(-1);
    if (open === undefined) return this.#root;
    if (open.places === null) return null;
    if (!open.isObject) return open.places.others;
    return (open.key === null ? undefined : open.places.properties?.get(open.key)) ?? open.places.others;
  }
}

/** The whole arguments. */
export function withWholeNumbers(text: string, places: IntegerPlaces): string {
  const numbers = new WholeNumbers(places, () => {});
  return numbers.push(text) + numbers.finish();
}
