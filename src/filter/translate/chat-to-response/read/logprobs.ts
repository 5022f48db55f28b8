import { objectOf, objectsOf } from '../../../../formats/json/loose.ts';
import type { LooseLogprobs, LooseTokenLogprob } from '../../../wire/schema/chat-completion.ts';
import type { Logprob, TopLogprob } from '../../../wire/schema/response-resource.ts';
import { bytesOfValue, type HeldBytes } from '../../shared/held-bytes.ts';

/** The API's lowest logprob, which replaces minus infinity, null and anything else that is not a number. */
const minLogprob = -9999;

export function readLogprobs(logprobs: unknown): Logprob[] {
  return objectsOf<LooseTokenLogprob>(objectOf<LooseLogprobs>(logprobs)?.content).flatMap((entry) => {
    const token = readTopLogprob(entry);
    const others = objectsOf<LooseTokenLogprob>(entry.top_logprobs).map(readTopLogprob);
    return token === null ? [] : { ...token, top_logprobs: others.filter((other) => other !== null) };
  });
}

function readTopLogprob({ token, logprob, bytes }: LooseTokenLogprob): TopLogprob | null {
  if (typeof token !== 'string') return null;
  return {
    token,
    logprob: typeof logprob === 'number' && Number.isFinite(logprob) ? Math.max(logprob, minLogprob) : minLogprob,
    // llama.cpp and Ollama leave out `bytes`, which the schema requires.
    bytes: Array.isArray(bytes) && bytes.every((byte) => Number.isInteger(byte)) ? bytes : [...Buffer.from(token)],
  };
}

/** Maximum tokens after the text that do not show in it: end markers, and the first bytes of an incomplete character. */
const maxTrailingTokens = 4;

const replacementCharacter = Buffer.from('\uFFFD');
const maxReplacedBytes = 16;

/** More tokens than text that is held back has: white space before an answer and the beginning of a tag. */
const maxWaitingTokens = 512;

/**
 * Finds the logprobs of the answer. The upstream sends the logprobs of all tokens, including reasoning, markup and end markers (vLLM,
 * llama.cpp), and not always in the chunk that has the text. The logprobs whose tokens make up a text belong to it; if no tokens do,
 * the text gets none (docs/answers.md §1.8).
 */
export class AnswerLogprobs {
  #waiting: Logprob[] = [];
  #sizes: number[] = [];
  readonly #held: HeldBytes;

  constructor(held: HeldBytes) {
    this.#held = held;
  }

  /** Adds the logprobs of one chunk. Those that no text took for many chunks are of reasoning or markup, and are dropped. */
  push(logprobs: readonly Logprob[]): void {
    const excess = this.#waiting.length - maxWaitingTokens;
    if (excess > 0) this.#drop(excess);
    for (const logprob of logprobs) {
      this.#waiting.push(logprob);
      const size = bytesOfValue(logprob);
      this.#sizes.push(size);
      this.#held.bytes += size;
    }
  }

  /** Takes the logprobs whose tokens make up `text`, and drops those before them. */
  take(text: string): readonly Logprob[] {
    if (this.#waiting.length === 0) return [];
    const run = findRun(this.#waiting, Buffer.from(text));
    if (run === null) return [];
    const [start, end] = run;
    const taken = this.#waiting.slice(start, end);
    this.#drop(end);
    return taken;
  }

  #drop(count: number): void {
    this.#waiting.splice(0, count);
    for (const size of this.#sizes.splice(0, count)) this.#held.bytes -= size;
  }
}

/** Finds tokens that make up the text: near the end, because the answer comes after reasoning, else at the start. Linear in the bytes. */
function findRun(tokens: readonly Logprob[], text: Buffer): readonly [start: number, end: number] | null {
  const earliest = Math.max(1, tokens.length - maxTrailingTokens);
  for (let end = tokens.length; end >= earliest; end--) {
    const start = findStart(tokens, end, text);
    if (start !== null) return [start, end];
  }
  const end = findEnd(tokens, text);
  return end === null ? null : [0, end];
}

/**
 * Finds where the tokens start that make up `text` and end at `end`; null if there are none. White space before the text may be in the
 * tokens alone, because servers cut it off. Tokens without bytes before the text belong to it: vLLM gives a character that is
 * several tokens to the last of them, and often as U+FFFD, which stands for a few bytes of any value.
 */
function findStart(tokens: readonly Logprob[], end: number, text: Buffer): number | null {
  let rest = text.length;
  /** The number of bytes before them for which the U+FFFD of a later token may stand. */
  let replaced = 0;
  /** Where the tokens start if that U+FFFD stands for all bytes that are left. */
  let possible: number | null = null;
  for (let index = end - 1; index >= 0; index--) {
    const bytes = tokens[index]?.bytes ?? [];
    // Most tokens end the text as they are, which is found without a copy of each token.
    const plain = replaced === 0 && endsWith(text, rest, bytes);
    if (plain) rest -= bytes.length;
    for (const piece of plain ? [] : splitBytes(bytes).reverse()) {
      if (piece === replacementCharacter) {
        replaced = maxReplacedBytes;
      } else if (piece.length > 0) {
        const at = findPiece(piece, text.subarray(0, rest), replaced);
        if (at === null) return withEmptyBefore(tokens, possible);
        rest = at;
        replaced = 0;
      }
    }
    if (rest === 0) return withEmptyBefore(tokens, index);
    possible = rest <= replaced ? index : null;
  }
  return withEmptyBefore(tokens, possible);
}

function withEmptyBefore(tokens: readonly Logprob[], index: number | null): number | null {
  if (index === null) return null;
  let start = index;
  while (tokens[start - 1]?.bytes.length === 0) start--;
  return start;
}

/** Does the text up to `end` end with these bytes, none of which belongs to a U+FFFD? */
function endsWith(text: Buffer, end: number, bytes: readonly number[]): boolean {
  const start = end - bytes.length;
  return start >= 0 && bytes.every((byte, at) => byte !== replacementCharacter[0] && byte === text[start + at]);
}

function splitBytes(bytes: readonly number[]): Buffer[] {
  let said = Buffer.from(bytes);
  const pieces: Buffer[] = [];
  for (let at = said.indexOf(replacementCharacter); at >= 0; at = said.indexOf(replacementCharacter)) {
    pieces.push(said.subarray(0, at), replacementCharacter);
    said = said.subarray(at + replacementCharacter.length);
  }
  return [...pieces, said];
}

/** Finds where `piece` begins in a text that ends with it, or with it and up to `replaced` bytes; 0 if it only has more white space. */
function findPiece(piece: Buffer, text: Buffer, replaced: number): number | null {
  if (piece.length > text.length) {
    const more = piece.length - text.length;
    return piece.subarray(more).equals(text) && piece.toString('utf8', 0, more).trim() === '' ? 0 : null;
  }
  for (let at = text.length - piece.length; at >= Math.max(0, text.length - piece.length - replaced); at--)
    if (text.subarray(at, at + piece.length).equals(piece)) return at;
  return null;
}

function findEnd(tokens: readonly Logprob[], text: Buffer): number | null {
  let said = 0;
  for (const [index, { bytes }] of tokens.entries()) {
    if (!text.subarray(said, said + bytes.length).equals(Buffer.from(bytes))) return null;
    said += bytes.length;
    if (said === text.length) return index + 1;
  }
  return null;
}
