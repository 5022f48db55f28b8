import { aboveMax } from '../request-errors.ts';

/** Refuses a string of more than `limit` UTF-8 bytes. */
export function checkBytes(text: string, limit: number, param: string, what: string): void {
  if (text.length * 3 <= limit) return; // a UTF-16 unit is three bytes at most: short strings need no counting
  const size = Buffer.byteLength(text);
  if (size > limit) throw aboveMax('string', param, `the ${what} is too long`, `${limit} bytes`, size);
}

/** Maximum length of a model's name. The longest in use are file paths of some 200 characters. */
export const maxModelLength = 512;
