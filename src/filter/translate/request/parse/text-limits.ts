import { ApiError } from '../../../wire/schema/api-error.ts';

/** Refuses a string of more than `limit` UTF-8 bytes. */
export function checkBytes(text: string, limit: number, param: string, what: string): void {
  if (text.length * 3 <= limit) return; // a UTF-16 unit is three bytes at most: short strings need no counting
  const size = Buffer.byteLength(text);
  if (size > limit) {
    throw ApiError.invalidRequest(
      'string_above_max_length',
      param,
      `Invalid '${param}': the ${what} is too long. Expected at most ${limit} bytes, but got ${size}.`,
    );
  }
}

/** Maximum length of a model's name. The longest in use are file paths of some 200 characters. */
export const maxModelLength = 512;
