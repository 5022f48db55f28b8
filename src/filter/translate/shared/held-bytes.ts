import { jsonTextOf, textOf } from '../../../formats/json/loose.ts';
import { JsonBytes } from '../../../formats/json/parts.ts';
import type { KeptJson, OutputItem } from '../../wire/schema/response-resource.ts';

/** About what V8 takes for one thing of each kind beside its texts, in bytes, with its places in lists, sets and maps. */
const sizes = {
  citation: 300,
  field: 100, // a provider's own field
  call: 350,
  name: 48, // a piece of a call's name
  id: 180,
  extra: 150, // an opaque field that goes back to the upstream, with its closure
  event: 400, // an event that waits
  piece: 64, // a piece of the delta of an event that waits
  part: 60, // a closed part of a message
  address: 64, // a picture's address
  delta: 100, // a text by its place, of a server that repeats all before
} as const;

/** Bytes of an item of the output: its objects, ids and places in lists, its parts, its writer, and the scanner of a call. */
const sizesOfItems: Partial<Record<OutputItem['type'], number>> = {
  message: 200,
  image_generation_call: 200,
  reasoning: 400,
  custom_tool_call: 750,
};
const sizeOfOtherCalls = 400;

/**
 * Counts the bytes that a stream holds until its end: texts, lists as the text of their JSON, and an estimate for each object. What grows
 * with a stream is in one of the classes below, or is added by its kind where it is held; items and their parts are added where their
 * events are emitted. `test/faults/held-bytes.test.ts` compares the count with the heap for every field of a delta.
 */
export class HeldBytes {
  bytes = 0;

  /** Counts one thing of that kind, and so many bytes of its texts. Returns what was counted. */
  add(kind: keyof typeof sizes, texts = 0): number {
    const bytes = sizes[kind] + texts;
    this.bytes += bytes;
    return bytes;
  }

  addItem(type: OutputItem['type']): void {
    this.bytes += sizesOfItems[type] ?? sizeOfOtherCalls;
  }

  remove(kind: keyof typeof sizes, texts: number): void {
    this.bytes -= sizes[kind] + texts;
  }
}

/** A copy in memory of its own: of a text that `slice` gives, V8 keeps all that it was cut from. */
export function ownCopy(text: string): string {
  return structuredClone(text);
}

/** Maximum characters of a model's name, a tier or a finish reason: more than any has. */
const maxWordLength = 512;

/** A name or a word of the upstream's that is kept, without the rest of a longer one in memory; `''` for what is no text. */
export function readWord(value: unknown): string {
  const text = textOf(value);
  return text.length > maxWordLength ? ownCopy(text.slice(0, maxWordLength)) : text;
}

/** About what V8 takes for a value and its places in lists and sets, beside its texts. */
const valueBytes = 48;

/** About what the values take, with all that they hold. */
export function bytesOfKept(...values: readonly unknown[]): number {
  let bytes = 0;
  for (const value of values) {
    bytes += valueBytes;
    if (typeof value === 'string') bytes += value.length;
    else if (value instanceof Map) for (const [key, entry] of value) bytes += bytesOfKept(key, entry);
    else if (value instanceof Set) for (const entry of value) bytes += bytesOfKept(entry);
    else if (typeof value === 'object' && value !== null)
      for (const entry of Object.values(value)) bytes += bytesOfKept(entry);
  }
  return bytes;
}

export function bytesOfJson(json: string): number {
  return 3 * json.length;
}

/** About what the objects of the value's JSON take. */
export function bytesOfValue(value: object): number {
  return bytesOfJson(jsonTextOf(value));
}

const piecesToFold = 64;
/** Bytes that V8 adds to a text: a header, and a node that joins the text to the one before. */
const textBytes = 48;

/**
 * A text that grows by small pieces and is read once, at its end. With a plain `+=`, V8 keeps every piece, and a node for
 * each, until the text is read: several times the text's own size when pieces are tokens. Joining some at a time keeps little more than
 * the text.
 */
export class GrowingText {
  readonly #held: HeldBytes;
  #text = '';
  #pieces: string[] = [];
  /** The last piece, whose end can be read without joining the text. */
  last = '';
  #bytes = 0;

  constructor(held: HeldBytes) {
    this.#held = held;
  }

  append(piece: string): void {
    this.#count(piece.length);
    this.#pieces.push(piece);
    this.last = piece;
    if (this.#pieces.length === piecesToFold) this.toString();
  }

  clear(): void {
    this.#count(-this.#bytes);
    this.#text = '';
    this.#pieces = [];
    this.last = '';
  }

  isEmpty(): boolean {
    return this.#text === '' && this.#pieces.length === 0;
  }

  toString(): string {
    if (this.#pieces.length > 0) {
      const [first = ''] = this.#pieces;
      const joined = this.#pieces.length === 1 ? first : this.#pieces.join('');
      this.#count(Buffer.byteLength(joined) - joined.length + textBytes);
      this.#text += joined;
      this.#pieces = [];
    }
    return this.#text;
  }

  #count(bytes: number): void {
    this.#bytes += bytes;
    this.#held.bytes += bytes;
  }
}

/** Characters above which a list stays JSON where it is repeated. */
const longListLength = 64 * 1024;

/** A list that grows with a stream, as the text of its JSON: its objects would take several times as much memory. */
export class JsonList<Value extends object> {
  readonly #text: GrowingText;

  constructor(held: HeldBytes) {
    this.#text = new GrowingText(held);
  }

  /** A value that is nested too deep to be written is left out. */
  push(value: Value): void {
    const json = jsonTextOf(value);
    if (json !== '') this.#text.append(`${json},`);
  }

  all(): readonly Value[] {
    return JSON.parse(this.#json()) as readonly Value[];
  }

  /** What `JSON.stringify` and `jsonParts` write as the list. A long list is never made of objects again. */
  toBeWritten(): readonly Value[] | KeptJson {
    const json = this.#json();
    return json.length < longListLength ? (JSON.parse(json) as readonly Value[]) : new JsonBytes(json);
  }

  clear(): void {
    this.#text.clear();
  }

  #json(): string {
    return `[${this.#text.toString().slice(0, -1)}]`;
  }
}
