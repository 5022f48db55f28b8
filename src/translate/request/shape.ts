import type { z } from 'zod';
import { ApiError } from '../../schema/api-error.ts';
import { isExactNumber } from '../../schema/create-response.ts';
import { passesFastCheck } from '../../schema/fast-check.ts';

type Issue = z.core.$ZodIssue;
type Path = readonly PropertyKey[];

/**
 * The value as the schema reads it. Throws an `ApiError` for the first mistake in document order, with `param` in
 * OpenAI's notation below `param` (null for the body itself).
 */
export function readShape<Schema extends z.ZodType>(schema: Schema, value: unknown, param: string): z.output<Schema> {
  if (passesFastCheck(schema, value)) return value as z.output<Schema>;
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const first = result.error.issues.reduce((a, b) => (compareInDocument(value, a.path, b.path) <= 0 ? a : b));
  throw errorOf(first, value, param);
}

/** `input[2].content[0]`: an index in brackets, a name after a dot. */
export function paramAt(param: string, ...path: Path): string {
  let text = param;
  for (const step of path) text += typeof step === 'number' ? `[${step}]` : `.${shorten(String(step))}`;
  return text;
}

/** A client's own word as it may stand in an error: names can be as long as the body. */
export function shorten(text: string): string {
  return text.length > 100 ? `${text.slice(0, 100)}…` : text;
}

/** 400 `unsupported_parameter`: the thing itself cannot be had here. */
export function unsupportedParameter(param: string, message: string): ApiError {
  return ApiError.invalidRequest('unsupported_parameter', param, message);
}

/** 400 `unsupported_value`: the field can be had, this value of it cannot. */
export function unsupportedValue(param: string, message: string): ApiError {
  return ApiError.invalidRequest('unsupported_value', param, message);
}

/** 400 `invalid_value`: no such value exists, or it does not fit the rest of the request. */
export function invalidValue(param: string, message: string): ApiError {
  return ApiError.invalidRequest('invalid_value', param, message);
}

/** 400 `missing_required_parameter`. */
export function missingParameter(param: string, hint = ''): ApiError {
  return ApiError.invalidRequest(
    'missing_required_parameter',
    param,
    `Missing required parameter: '${param}'.${hint === '' ? '' : ` ${hint}`}`,
  );
}

/** 400 `invalid_type`: `expected` with its article, `an object`. */
export function invalidType(param: string | null, expected: string, value: unknown): ApiError {
  const where = param === null ? 'the request body' : `'${param}'`;
  return ApiError.invalidRequest(
    'invalid_type',
    param,
    `Invalid type for ${where}: expected ${expected}, but got ${typeName(value)}.`,
  );
}

/** The value as a client may see it in a message: short, quoted. */
export function quote(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? String(value));
  return `'${text.length > 64 ? `${text.slice(0, 64)}…` : text}'`;
}

function errorOf(issue: Issue, root: unknown, param: string): ApiError {
  const at = paramAt(param, ...issue.path);
  const value = valueAt(root, issue.path);
  switch (issue.code) {
    case 'invalid_type':
      return value === undefined
        ? missingParameter(at)
        : invalidType(at, expectedNames[issue.expected] ?? issue.expected, value);
    case 'invalid_union':
      return unionError(issue, at, value);
    case 'custom':
      return value === undefined
        ? missingParameter(at)
        : invalidType(at, String(issue.params?.['expected'] ?? issue.message), value);
    case 'too_small':
      return tooSmall(issue, at, value);
    case 'too_big':
      return tooBig(issue, at, value);
    case 'invalid_value':
      if (value === undefined) return missingParameter(at);
      return invalidValue(
        at,
        `Invalid value: ${quote(value)} for '${at}'. Supported values are: ${issue.values.map(quote).join(', ')}.`,
      );
    case 'invalid_format':
      return invalidValue(
        at,
        `Invalid value: ${quote(value)} for '${at}'. It must match the pattern ${issue.pattern ?? issue.format}.`,
      );
    case 'not_multiple_of':
    case 'unrecognized_keys':
    case 'invalid_key':
    case 'invalid_element':
      return invalidValue(at, `Invalid value for '${at}': ${issue.message}.`);
  }
}

/** Our unions are of plain types (a string or an array), or told apart by `type`. */
function unionError(issue: Issue & { code: 'invalid_union' }, at: string, value: unknown): ApiError {
  if (issue.errors.length === 0) {
    return value === undefined ? missingParameter(at) : invalidValue(at, `Invalid value: ${quote(value)} for '${at}'.`);
  }
  if (value === undefined) return missingParameter(at);
  const expected = issue.errors.map(([first]) => {
    if (first?.code === 'custom') return String(first.params?.['expected']);
    return first?.code === 'invalid_type' ? (expectedNames[first.expected] ?? first.expected) : 'another value';
  });
  return invalidType(at, expected.join(' or '), value);
}

function tooSmall(issue: Issue & { code: 'too_small' }, at: string, value: unknown): ApiError {
  switch (issue.origin) {
    case 'string':
      return missingParameter(at, 'It must not be empty.');
    case 'array':
      return ApiError.invalidRequest('empty_array', at, `Invalid '${at}': it must not be an empty array.`);
    default: // numbers: the schema says in its message which kind
      return ApiError.invalidRequest(
        `${issue.message}_below_min_value`,
        at,
        `Invalid '${at}': ${issue.message} below minimum value. Expected a value >= ${issue.minimum}, but got ${quote(value)}.`,
      );
  }
}

function tooBig(issue: Issue & { code: 'too_big' }, at: string, value: unknown): ApiError {
  if (issue.origin === 'string') {
    const text = issue.message === 'key' ? String(issue.path.at(-1)) : String(value);
    const what = issue.message === 'key' ? 'the key is' : 'it is';
    return ApiError.invalidRequest(
      'string_above_max_length',
      at,
      `Invalid '${at}': ${what} too long. Expected at most ${issue.maximum} characters, but got ${text.length}.`,
    );
  }
  if (issue.origin === 'array') {
    const size = Array.isArray(value) ? value.length : Object.keys(value as object).length;
    return ApiError.invalidRequest(
      'array_above_max_length',
      at,
      `Invalid '${at}': too many entries. Expected at most ${issue.maximum}, but got ${size}.`,
    );
  }
  return ApiError.invalidRequest(
    `${issue.message}_above_max_value`,
    at,
    `Invalid '${at}': ${issue.message} above maximum value. Expected a value <= ${issue.maximum}, but got ${quote(value)}.`,
  );
}

const expectedNames: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  boolean: 'a boolean',
  object: 'an object',
  array: 'an array',
};

function typeName(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  if (typeof value === 'number') return Number.isInteger(value) ? 'an integer' : 'a decimal number';
  if (isExactNumber(value)) return 'a number';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

function valueAt(root: unknown, path: Path): unknown {
  let value = root;
  for (const step of path) value = (value as Record<PropertyKey, unknown> | null | undefined)?.[step];
  return value;
}

/** Order of two places in one document; an absent one comes after its present siblings. */
function compareInDocument(root: unknown, a: Path, b: Path): number {
  let value = root;
  for (let depth = 0; depth < Math.min(a.length, b.length); depth++) {
    const [stepA, stepB] = [a[depth] as PropertyKey, b[depth] as PropertyKey];
    if (stepA !== stepB) return placeOf(value, stepA) - placeOf(value, stepB);
    value = (value as Record<PropertyKey, unknown> | null | undefined)?.[stepA];
  }
  return a.length - b.length;
}

function placeOf(value: unknown, step: PropertyKey): number {
  if (typeof step === 'number') return step;
  const place = typeof value === 'object' && value !== null ? Object.keys(value).indexOf(String(step)) : -1;
  return place === -1 ? Number.MAX_SAFE_INTEGER : place;
}
