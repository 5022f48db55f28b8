import { jsonOf, objectOf } from '../../../../formats/json/loose.ts';
import type { LooseChunk } from '../../../wire/schema/chat-completion.ts';
import type { DeltaField, FastDelta } from './fast-delta.ts';

const quote = 0x22;
const backslash = 0x5c;

/** Characters no server would write by itself. */
const probe = '\u2063probe\u2063';
/** Attempts at a server that writes every chunk differently (`created`, padding). */
const maxAttempts = 16;
/** A longer chunk is always parsed: a template lasts as long as the stream, and is not counted. */
const maxLearned = 16 * 1024;

/**
 * Fast path. The JSON around the text of a delta, which a server repeats with every token of the same kind: where a chunk
 * has the same beginning and end, only the text between them is read, as a JSON string. It saves `JSON.parse` for nearly
 * every chunk, a fifth of a token in a burst (docs/decisions/0012-speed.md).
 */
export class DeltaTemplate {
  #head = '';
  #tail = '';
  /** Where the learned chunk has its text. */
  field: DeltaField = { name: 'content' };
  #attempts = 0;

  /** The text of a chunk that differs from the learned one in its text alone; null for any other. Never throws. */
  match(json: string): string | null {
    const head = this.#head;
    const tail = this.#tail;
    // `startsWith` compares one character at a time, `===` many at once.
    if (head === '' || json.slice(0, head.length) !== head || json.slice(-tail.length) !== tail) return null;
    const length = json.length - head.length - tail.length;
    if (length > 0 && length <= maxCopied && isVerbatim(json, head.length, length))
      return json.slice(head.length, head.length + length);
    // Both halves include their quote.
    const text = jsonOf(json.slice(head.length - 1, json.length - tail.length + 1));
    return typeof text === 'string' && text !== '' ? text : null;
  }

  /** Learns the JSON around that field's text. `read` gives a chunk's delta as `readFastDelta` does. */
  learn(json: string, field: DeltaField, read: (chunk: LooseChunk) => FastDelta | null): void {
    if (this.#attempts === maxAttempts || json.length > maxLearned) return;
    this.#attempts += 1;
    const name = `"${field.name}"`;
    const start = json.indexOf('"', json.indexOf(name) + name.length) + 1;
    content.lastIndex = start;
    content.test(json);
    const [before, after] = [json.slice(0, start), json.slice(content.lastIndex)];
    // The same name may occur elsewhere: only a different text there proves that this is the place.
    if (read(objectOf<LooseChunk>(jsonOf(before + probe + after)) ?? {})?.text !== probe) return;
    this.#head = copyOf(before);
    this.#tail = copyOf(after);
    this.field = field;
  }

  /** Drops what was learned; `match` gives null until something is learned again. */
  forget(): void {
    this.#head = '';
  }
}

/** Contents of a JSON string, up to its closing quote. */
const content = /(?:[^"\\]|\\.)*/sy;

/** A copy in memory of its own: the result of `slice` keeps the whole chunk alive, in two bytes a character if it has to. */
function copyOf(slice: string): string {
  return Buffer.from(slice).toString();
}

/** V8 copies slices up to this length; a longer one is a view that keeps the whole chunk alive. */
const maxCopied = 12;

function isVerbatim(json: string, start: number, length: number): boolean {
  for (let at = start; at < start + length; at++) {
    const code = json.charCodeAt(at);
    // The last are control characters.
    if (code === quote || code === backslash || code < 0x20) return false;
  }
  return true;
}
