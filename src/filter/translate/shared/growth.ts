import { invalidValue } from './request-errors.ts';

/** Characters that every request may become, however short it is: this service adds placeholders, wrappers of tools and prompts. */
const spared = 1024 * 1024;
/** How many times as long as it came a request may become. */
const most = 8;

/**
 * Counts what a request becomes while it is translated, and refuses a request that repeats a text again and again. A repeated text is a
 * reference until the Chat request is written as JSON, which would take more memory than there is.
 */
export class Growth {
  /** The request as it came; undefined once it is counted. Most requests are shorter than what is spared, and need no count. */
  #came: unknown;
  #left = spared;

  constructor(came: unknown) {
    this.#came = came;
  }

  /** Counts a part of the Chat request that is made of the field at `param`. Throws `ApiError`. */
  add(made: unknown, param: string): void {
    let count = countJsonCharacters(made, this.#left);
    if (count > this.#left && this.#came !== undefined) {
      this.#left += most * countJsonCharacters(this.#came, Number.POSITIVE_INFINITY);
      this.#came = undefined;
      count = countJsonCharacters(made, this.#left);
    }
    this.#left -= count;
    if (this.#left >= 0) return;
    const message = `Invalid '${param}': it makes the request for the upstream more than ${most} times as long as the one that came. Leave out what repeats a long text.`;
    throw invalidValue(param, message);
  }
}

/**
 * Characters of the value's JSON, without escapes. Counting ends above `most`, since a value with one object in many places may be longer
 * than memory once it is written.
 */
export function countJsonCharacters(value: unknown, most: number): number {
  if (typeof value === 'string') return value.length + 2;
  if (typeof value !== 'object' || value === null) return value === undefined ? 0 : String(value).length;
  let count = 2;
  if (Array.isArray(value)) {
    for (const entry of value) {
      count += 1 + countJsonCharacters(entry, most - count);
      if (count > most) return count;
    }
    return count;
  }
  for (const name in value) {
    count += name.length + 4 + countJsonCharacters((value as Readonly<Record<string, unknown>>)[name], most - count);
    if (count > most) return count;
  }
  return count;
}
