import { isExactNumber } from '../../../formats/json/exact.ts';
import { ApiError } from '../../wire/schema/api-error.ts';
import type { TranslationSettings } from './settings.ts';

/** A path in an error: `input[2].content[0]`, with indexes in brackets, and names after dots. */
export function paramAt(param: string, ...path: readonly PropertyKey[]): string {
  let text = param;
  for (const step of path) text += typeof step === 'number' ? `[${step}]` : `.${shorten(String(step))}`;
  return text;
}

/** A client's own text, cut to what an error message may repeat: a name can be as long as the body. */
export function shorten(text: string): string {
  return text.length > 100 ? `${text.slice(0, 100)}…` : text;
}

const refusal = (code: string) => (param: string, message: string) => ApiError.invalidRequest(code, param, message);

/** 400 `unsupported_parameter`: this service or its upstream has no such feature. */
export const unsupportedParameter = refusal('unsupported_parameter');
/** 400 `unsupported_value`: the field is supported, but not this value of it. */
export const unsupportedValue = refusal('unsupported_value');
/** 400 `invalid_value`: no such value exists, or it contradicts the rest of the request. */
export const invalidValue = refusal('invalid_value');

/** 400 `invalid_value`: the field has a few values, and this is none of them. */
export function notOneOf(param: string, value: unknown, supported: readonly unknown[]): ApiError {
  const known = supported.map(quote).join(', ');
  const message = `Invalid value: ${quote(value)} for '${param}'.${known === '' ? '' : ` Supported values are: ${known}.`}`;
  return invalidValue(param, message);
}

/** 400 `string_above_max_length` or `array_above_max_length`. `what` is wrong with the field; `most` comes with its unit. */
export function aboveMax(
  kind: 'string' | 'array',
  param: string,
  what: string,
  most: number | bigint | string,
  got: number,
): ApiError {
  const message = `Invalid '${param}': ${what}. Expected at most ${most}, but got ${got}.`;
  return ApiError.invalidRequest(`${kind}_above_max_length`, param, message);
}

/** Returns the text. Throws 400 `string_above_max_length` for more than `most` characters. */
export function withinLength(text: string, most: number, param: string): string {
  if (text.length > most) throw aboveMax('string', param, 'it is too long', `${most} characters`, text.length);
  return text;
}

/** Returns the text. Throws 400 `string_above_max_length` for more than `limits.maxTextBytes` bytes of UTF-8. */
export function withinTextLimit(text: string, param: string, { limits }: TranslationSettings): string {
  return withinBytes(text, limits.maxTextBytes, param, 'text');
}

/** Returns the text. Throws 400 `string_above_max_length` for more than `most` bytes of UTF-8; `what` names what is too long. */
export function withinBytes(text: string, most: number, param: string, what: string): string {
  if (text.length * 3 <= most) return text; // a UTF-16 unit is three bytes at most: short strings need no counting
  const size = Buffer.byteLength(text);
  if (size > most) throw aboveMax('string', param, `the ${what} is too long`, `${most} bytes`, size);
  return text;
}

export function emptyArray(param: string): ApiError {
  return ApiError.invalidRequest('empty_array', param, `Invalid '${param}': it must not be an empty array.`);
}

export function missingParameter(param: string, hint = ''): ApiError {
  const message = `Missing required parameter: '${param}'.${hint === '' ? '' : ` ${hint}`}`;
  return ApiError.invalidRequest('missing_required_parameter', param, message);
}

/** 400 `invalid_type`: `expected` comes with its article, `an object`. A null `param` is the body itself. */
export function invalidType(param: string | null, expected: string, value: unknown): ApiError {
  const where = param === null ? 'the request body' : `'${param}'`;
  const message = `Invalid type for ${where}: expected ${expected}, but got ${typeName(value)}.`;
  return ApiError.invalidRequest('invalid_type', param, message);
}

/** The value, of a JSON body, in quotes: at most 64 characters of it, for an error message. */
export function quote(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return `'${text.length > 64 ? `${text.slice(0, 64)}…` : text}'`;
}

function typeName(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  if (typeof value === 'number') return Number.isInteger(value) ? 'an integer' : 'a decimal number';
  if (isExactNumber(value)) return 'a number';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

export function unknownParameter(name: string): ApiError {
  const message = `Unknown parameter: '${shorten(name)}'. Leave it out.`;
  return ApiError.invalidRequest('unknown_parameter', shorten(name), message);
}
