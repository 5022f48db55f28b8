import { objectOf, objectsOf } from '../../../../formats/json/loose.ts';
import type { LooseLogprobs, LooseTokenLogprob } from '../../../wire/schema/chat-completion.ts';
import type { Logprob, TopLogprob } from '../../../wire/schema/response-resource.ts';
import { bytesOfValue, type HeldBytes } from '../../shared/held-bytes.ts';

/** Replaces minus infinity, null and anything else that is not a number: the API's own floor. */
const minLogprob = -9999;

/** `choices[0].logprobs` of a completion or a chunk as the API writes them (docs/answers.md §1.8); empty if there are none. */
export function readLogprobs(logprobs: unknown): Logprob[] {
  return objectsOf<LooseTokenLogprob>(objectOf<LooseLogprobs>(logprobs)?.content).flatMap((entry) => {
    const token = topLogprobOf(entry);
    const others = objectsOf<LooseTokenLogprob>(entry.top_logprobs).map(topLogprobOf);
    return token === null ? [] : { ...token, top_logprobs: others.filter((other) => other !== null) };
  });
}

function topLogprobOf({ token, logprob, bytes }: LooseTokenLogprob): TopLogprob | null {
  if (typeof token !== 'string') return null;
  return {
    token,
    logprob: typeof logprob === 'number' && Number.isFinite(logprob) ? Math.max(logprob, minLogprob) : minLogprob,
    // llama.cpp and Ollama leave `bytes` out; the schema wants it.
    bytes: Array.isArray(bytes) && bytes.every((byte) => Number.isInteger(byte)) ? bytes : [...Buffer.from(token)],
  };
}

/** Tokens after the text that do not show in it: end markers, and the first bytes of an incomplete character. */
const maxTrailingTokens = 4;

const replacementCharacter = Buffer.from('\uFFFD');
/** Maximum bytes that a U+FFFD in a token stands for: the beginnings of a few characters. */
const maxReplacedBytes = 16;

/** A limit above what held-back text can have: white space before an answer and the beginning of a tag. */
const maxWaitingTokens = 512;

/**
 * Finds the logprobs of the answer among those the upstream sends, which are of all tokens: reasoning, markup and end
 * markers too (vLLM, llama.cpp), and not always in the chunk that has the text. The answer's are those whose tokens make up
 * its text; if that is ambiguous there are none (docs/answers.md §1.8).
 */
export class AnswerLogprobs {
  #waiting: Logprob[] = [];
  #sizes: number[] = [];
  readonly #held: HeldBytes;

  constructor(held: HeldBytes) {
    this.#held = held;
  }

  /** Adds those of one chunk. What no text took of many chunks before is reasoning or markup, and is dropped. */
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

  /** Takes those whose tokens make up `text`; the ones before them are not the answer's. */
  take(text: string): readonly Logprob[] {
    if (this.#waiting.length === 0) return [];
    const run = runOf(this.#waiting, Buffer.from(text));
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

/** The last run near the end, because the answer comes after reasoning; else the one at the start. Linear in the bytes. */
function runOf(tokens: readonly Logprob[], text: Buffer): readonly [start: number, end: number] | null {
  const earliest = Math.max(1, tokens.length - maxTrailingTokens);
  for (let end = tokens.length; end >= earliest; end--) {
    const start = startOf(tokens, end, text);
    if (start !== null) return [start, end];
  }
  const end = endOf(tokens, text);
  return end === null ? null : [0, end];
}

/**
 * Where the run that says `text` and ends at `end` starts; null if there is none. White space before the text may be in the
 * tokens alone, because servers cut it off. Tokens before it that have no bytes belong to it: vLLM gives a character that is
 * several tokens to the last of them, and often as U+FFFD, which stands for a few bytes of any value.
 */
function startOf(tokens: readonly Logprob[], end: number, text: Buffer): number | null {
  /** Bytes of `text` that no token has said yet, from its start. */
  let rest = text.length;
  /** How many at the end of those the U+FFFD of a later token may stand for. */
  let replaced = 0;
  /** Where it starts if the U+FFFD stands for all that is left, unless a token before says some of it. */
  let possible: number | null = null;
  for (let index = end - 1; index >= 0; index--) {
    const bytes = tokens[index]?.bytes ?? [];
    // Most tokens end the text as they are, which is seen without a copy of each.
    const plain = replaced === 0 && endsWith(text, rest, bytes);
    if (plain) rest -= bytes.length;
    for (const piece of plain ? [] : piecesOf(bytes).reverse()) {
      if (piece === replacementCharacter) {
        replaced = maxReplacedBytes;
      } else if (piece.length > 0) {
        const at = placeOf(piece, text.subarray(0, rest), replaced);
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

/** Does the text up to `end` end with these bytes, none of which can belong to a U+FFFD? */
function endsWith(text: Buffer, end: number, bytes: readonly number[]): boolean {
  const start = end - bytes.length;
  return start >= 0 && bytes.every((byte, at) => byte !== replacementCharacter[0] && byte === text[start + at]);
}

/** A token's bytes, cut at each U+FFFD, which is a piece of its own. */
function piecesOf(bytes: readonly number[]): Buffer[] {
  let said = Buffer.from(bytes);
  const pieces: Buffer[] = [];
  for (let at = said.indexOf(replacementCharacter); at >= 0; at = said.indexOf(replacementCharacter)) {
    pieces.push(said.subarray(0, at), replacementCharacter);
    said = said.subarray(at + replacementCharacter.length);
  }
  return [...pieces, said];
}

/** Where `piece` begins if `text` ends with it, or with it and up to `replaced` bytes more; 0 if it only has more white space. */
function placeOf(piece: Buffer, text: Buffer, replaced: number): number | null {
  if (piece.length > text.length) {
    const more = piece.length - text.length;
    return piece.subarray(more).equals(text) && piece.toString('utf8', 0, more).trim() === '' ? 0 : null;
  }
  for (let at = text.length - piece.length; at >= Math.max(0, text.length - piece.length - replaced); at--)
    if (text.subarray(at, at + piece.length).equals(piece)) return at;
  return null;
}

function endOf(tokens: readonly Logprob[], text: Buffer): number | null {
  let said = 0;
  for (const [index, { bytes }] of tokens.entries()) {
    if (!text.subarray(said, said + bytes.length).equals(Buffer.from(bytes))) return null;
    said += bytes.length;
    if (said === text.length) return index + 1;
  }
  return null;
}
