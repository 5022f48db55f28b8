import { jsonOf, objectOf } from '../../../../formats/json/loose.ts';
import type { LooseChunk } from '../../../wire/schema/chat-completion.ts';
import type { DeltaField, FastDelta } from './fast-delta.ts';

const quote = 0x22;
const backslash = 0x5c;
const firstPrintable = 0x20;

/** A text that no server would write by itself. */
const probe = '\u2063probe\u2063';
/** After so many templates the server writes every chunk differently (`created`, padding), and no other is learned. */
const maxAttempts = 16;
/** Characters of a chunk that is learned: a template stays until the stream ends, and `HeldBytes` does not count it. */
const maxLearned = 16 * 1024;

/**
 * Fast path. A template is the JSON around the text of a delta, which a server repeats with every token of the same kind. Of a chunk with
 * the same beginning and end, only the text between them is read. This saves `JSON.parse` for nearly every chunk, which is a fifth
 * of the time of a token in a burst (docs/decisions/0012-speed.md).
 */
export class DeltaTemplate {
  #head = '';
  #tail = '';
  field: DeltaField = { name: 'content' };
  #attempts = 0;

  /** The text of a chunk that differs from the learned chunk in its text alone; null for any other. Never throws. */
  match(json: string): string | null {
    const head = this.#head;
    const tail = this.#tail;
    // `startsWith` compares one character at a time, `===` many at once.
    if (head === '' || json.slice(0, head.length) !== head || json.slice(-tail.length) !== tail) return null;
    const length = json.length - head.length - tail.length;
    if (length > 0 && length <= maxCopied && isVerbatim(json, head.length, length))
      return json.slice(head.length, head.length + length);
    const text = jsonOf(json.slice(head.length - 1, json.length - tail.length + 1));
    return typeof text === 'string' && text !== '' ? text : null;
  }

  /** Learns the JSON around that field's text. `read` returns a chunk's delta as `readFastDelta` does. */
  learn(json: string, field: DeltaField, read: (chunk: LooseChunk) => FastDelta | null): void {
    if (this.#attempts === maxAttempts || json.length > maxLearned) return;
    this.#attempts += 1;
    const name = `"${field.name}"`;
    const start = json.indexOf('"', json.indexOf(name) + name.length) + 1;
    content.lastIndex = start;
    content.test(json);
    const [before, after] = [json.slice(0, start), json.slice(content.lastIndex)];
    // The same name may occur elsewhere: only another text that is read from this place proves that it is the right one.
    if (read(objectOf<LooseChunk>(jsonOf(before + probe + after)) ?? {})?.text !== probe) return;
    this.#head = compactCopy(before);
    this.#tail = compactCopy(after);
    this.field = field;
  }

  forget(): void {
    this.#head = '';
  }
}

const content = /(?:[^"\\]|\\.)*/sy;

/** V8 copies slices up to this length; a longer slice is a view that keeps the whole chunk alive. */
const maxCopied = 12;

/** A copy that does not keep the whole chunk alive, and has one byte a character where it can. */
function compactCopy(slice: string): string {
  return Buffer.from(slice).toString();
}

function isVerbatim(json: string, start: number, length: number): boolean {
  for (let at = start; at < start + length; at++) {
    const code = json.charCodeAt(at);
    if (code === quote || code === backslash || code < firstPrintable) return false;
  }
  return true;
}
