import { type Loose, objectOf } from '../../schema/chat-completion.ts';
import type { DeltaField, FastDelta } from './fast-delta.ts';

/** The JSON around the text of plain deltas: a server repeats it with every token of the same kind. */
export interface DeltaTemplate {
  /** The text of a chunk that differs from the learned one in nothing else; null for any other. Never throws. */
  match(json: string): string | null;
  /** Where the learned chunk has its text. */
  field(): DeltaField;
  /** Learns what stands around that field's text in the chunk. `read` gives a chunk's delta as `plainDeltaOf` does. */
  learn(json: string, field: DeltaField, read: (chunk: Loose) => FastDelta | null): void;
  forget(): void;
}

const quote = 0x22;
const backslash = 0x5c;

/** No letters a server would put there by itself. */
const probe = '\u2063probe\u2063';
/** A server that writes every chunk differently (`created`, padding) is not worth more. */
const maxAttempts = 16;

/** Spares parsing what was parsed before: the text between the same two halves is all that is read, as a JSON string. */
export function createDeltaTemplate(): DeltaTemplate {
  return new LearnedTemplate();
}

class LearnedTemplate implements DeltaTemplate {
  #head = '';
  #tail = '';
  #field: DeltaField = { name: 'content' };
  #attempts = 0;

  match(json: string): string | null {
    const head = this.#head;
    const tail = this.#tail;
    // `startsWith` compares letter by letter, `===` many at a time.
    if (head === '' || json.slice(0, head.length) !== head || json.slice(-tail.length) !== tail) return null;
    const length = json.length - head.length - tail.length;
    if (length > 0 && length <= maxCopied && isPlain(json, head.length, length))
      return json.slice(head.length, head.length + length);
    // Both halves hold their quote.
    return stringOf(json.slice(head.length - 1, json.length - tail.length + 1));
  }

  field(): DeltaField {
    return this.#field;
  }

  learn(json: string, field: DeltaField, read: (chunk: Loose) => FastDelta | null): void {
    if (this.#attempts === maxAttempts) return;
    this.#attempts += 1;
    const name = `"${field.name}"`;
    const start = json.indexOf('"', json.indexOf(name) + name.length) + 1;
    const [before, after] = [json.slice(0, start), json.slice(endOfString(json, start))];
    // The same name may stand elsewhere: only another text in its place tells that this is the place.
    if (read(objectOf(jsonValue(before + probe + after)) ?? {})?.text !== probe) return;
    this.#head = copyOf(before);
    this.#tail = copyOf(after);
    this.#field = field;
  }

  forget(): void {
    this.#head = '';
  }
}

/** Where the quote stands that ends the JSON string whose letters begin at `start`. */
function endOfString(json: string, start: number): number {
  for (let at = start; at < json.length; at++) {
    const code = json.charCodeAt(at);
    if (code === quote) return at;
    // A quote behind it is a letter.
    if (code === backslash) at++;
  }
  return json.length;
}

/** The same letters in memory of their own: what `slice` gives keeps the whole chunk, in its wider letters if it has any. */
function copyOf(slice: string): string {
  return Buffer.from(slice).toString();
}

/** Of more letters V8 makes no copy but a view, which keeps the whole chunk as long as its text. */
const maxCopied = 12;

/** Do these letters, inside a JSON string, stand for themselves? */
function isPlain(json: string, start: number, length: number): boolean {
  for (let at = start; at < start + length; at++) {
    const code = json.charCodeAt(at);
    // The last are control characters.
    if (code === quote || code === backslash || code < 0x20) return false;
  }
  return true;
}

function stringOf(json: string): string | null {
  const value = jsonValue(json);
  return typeof value === 'string' && value !== '' ? value : null;
}

/** Undefined where it is not JSON. */
function jsonValue(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}
