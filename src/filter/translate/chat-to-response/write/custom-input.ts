import { jsonOf, objectOf } from '../../../../formats/json/loose.ts';
import type { Loose } from '../../../wire/schema/chat-completion.ts';

const opening = /^\s*\{\s*"input"\s*:\s*"/;

/** Arguments with more characters before the input have no such opening. */
const maxOpeningLength = 256;

const escapes = 'ntrbf"\\/';
const escaped = '\n\t\r\b\f"\\/';

/**
 * Reads the `input` of a wrapped custom tool out of its arguments while they are still arriving: decodes the JSON string
 * after `{"input":` from pieces cut anywhere, inside an escape or between the halves of a surrogate pair. Common mistakes of
 * models are tolerated: line feeds inside the string, and backslashes that escape nothing.
 */
export class CustomInputDecoder {
  #state: 'opening' | 'string' | 'closed' | 'unknown' = 'opening';
  /** The opening so far; after it, an escape that is not complete. */
  #buffered = '';
  #highSurrogate = '';
  #next = '';

  /** Takes the next piece of the arguments and returns what it adds to the input. */
  push(text: string): string {
    if (this.#state === 'opening') return this.#readOpening(text);
    if (this.#state === 'string') return this.#readString(text);
    if (this.#state === 'closed') this.#readNext(text);
    return '';
  }

  /** Returns text that was held back: half of a character, or of an escape, whose rest never arrived. */
  finish(): string {
    const rest = this.#highSurrogate + (this.#state === 'string' ? this.#buffered : '');
    this.#highSurrogate = '';
    this.#buffered = '';
    return rest;
  }

  /** False while the arguments do not begin with `{"input":"`: then the input can only be read from the whole. */
  isReading(): boolean {
    return this.#state === 'string' || this.#state === 'closed';
  }

  /** Has the string ended at a comma or the end of its object? Behind a quote that a model did not escape, more of the input comes. */
  isWhole(): boolean {
    return this.#state === 'closed' && ['', ',', '}'].includes(this.#next);
  }

  #readNext(text: string): void {
    if (this.#next === '') this.#next = text.trimStart().charAt(0);
  }

  #readOpening(text: string): string {
    this.#buffered += text;
    const match = opening.exec(this.#buffered);
    const isTooLong = this.#buffered.length > maxOpeningLength;
    if (match === null && !isTooLong && '{"input":"'.startsWith(this.#buffered.replaceAll(/\s/g, ''))) return '';
    const rest = match === null ? '' : this.#buffered.slice(match[0].length);
    this.#state = match === null ? 'unknown' : 'string';
    this.#buffered = '';
    return this.#readString(rest);
  }

  #readString(text: string): string {
    const source = this.#buffered + text;
    let decoded = this.#highSurrogate;
    this.#buffered = '';
    this.#highSurrogate = '';
    for (let at = 0; at < source.length; ) {
      // One search for both characters: a search for each would read to the end for every backslash.
      special.lastIndex = at;
      const end = special.exec(source)?.index ?? source.length;
      decoded += source.slice(at, end);
      if (source[end] === '"') {
        this.#state = 'closed';
        this.#readNext(source.slice(end + 1));
        return decoded;
      }
      at = end + (source[end + 1] === 'u' ? 6 : 2);
      if (at <= source.length) decoded += unescaped(source.slice(end, at));
      else this.#buffered = source.slice(end);
    }
    const last = decoded.charCodeAt(decoded.length - 1);
    if (!(last >= 0xd800 && last <= 0xdbff)) return decoded;
    this.#highSurrogate = decoded.slice(-1);
    return decoded.slice(0, -1);
  }
}

const special = /["\\]/g;

function unescaped(sequence: string): string {
  const letter = sequence[1] ?? '';
  if (letter !== 'u') return escaped[escapes.indexOf(letter)] ?? sequence;
  return /^\\u[0-9a-f]{4}$/i.test(sequence) ? String.fromCharCode(Number.parseInt(sequence.slice(2), 16)) : sequence;
}

/**
 * Reads the input of a custom tool that was offered as a function with the parameter `input`. Models also rename the parameter or write the
 * input bare, so a single string property counts as the input, and so does text that is not JSON.
 */
export function readCustomInput(text: string): string {
  const decoder = new CustomInputDecoder();
  const input = decoder.push(text) + decoder.finish();
  if (decoder.isReading()) return input;
  const value = jsonOf(text);
  if (typeof value === 'string') {
    const within = objectOf<Loose<'input'>>(jsonOf(value))?.input;
    return typeof within === 'string' ? within : value;
  }
  const object = objectOf<Loose<'input'>>(value);
  if (object === null) return text;
  if (typeof object.input === 'string') return object.input;
  const strings = Object.values(object).filter((property) => typeof property === 'string');
  if (strings.length === 1 && strings[0] !== undefined) return strings[0];
  return Object.keys(object).length === 0 ? '' : text;
}
