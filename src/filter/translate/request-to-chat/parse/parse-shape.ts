import type * as z from 'zod/mini';
import { isJsonObject } from '../../../../formats/json/exact.ts';
import { ApiError } from '../../../wire/schema/api-error.ts';
import { maxNameLength } from '../../../wire/schema/create-response.ts';
import type { Reading } from '../../shared/dropped.ts';
import {
  aboveMax,
  emptyArray,
  invalidType,
  invalidValue,
  missingParameter,
  notOneOf,
  paramAt,
  quote,
  withinLength,
} from '../../shared/request-errors.ts';
import { dropStripped, type PassedKeys } from './known-keys.ts';

type Issue = z.core.$ZodIssue;
type Path = readonly PropertyKey[];

/**
 * The value as the schema reads it. What the schema strips is refused, or dropped and listed, but for the keys in `passed`, which go to
 * the upstream. Throws `ApiError` for the first mistake in the document.
 */
export function parseFields<Schema extends z.ZodMiniType>(
  schema: Schema,
  value: unknown,
  param: string,
  reading: Reading,
  passed: PassedKeys | null = null,
): z.output<Schema> {
  const read = parseShape(schema, value, param);
  dropStripped(schema, value, param, reading, passed);
  return read;
}

/** As `parseFields`, for callers that list what is stripped themselves. */
export function parseShape<Schema extends z.ZodMiniType>(
  schema: Schema,
  value: unknown,
  param: string,
): z.output<Schema> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw buildError(firstInDocument(value, result.error.issues), value, param);
}

/** Parses an object with a type. Throws `ApiError` for anything else. */
export function parseTyped(value: unknown, at: string): readonly [type: string, object: Record<string, unknown>] {
  if (!isJsonObject(value)) throw invalidType(at, 'an object', value);
  const type = value['type'];
  if (type == null) throw missingParameter(`${at}.type`);
  if (typeof type !== 'string') throw invalidType(`${at}.type`, 'a string', type);
  return [withinLength(type, maxNameLength, `${at}.type`), value];
}

function buildError(issue: Issue, root: unknown, param: string): ApiError {
  const at = paramAt(param, ...issue.path);
  const value = findValue(root, issue.path);
  if (value === undefined) return missingParameter(at);
  switch (issue.code) {
    case 'invalid_type':
    case 'custom':
      return invalidType(at, describeExpected(issue), value);
    case 'invalid_union':
      // A union is of objects with a `type`, or of plain types, such as a string or an array.
      if (issue.errors.length === 0) return notOneOf(at, value, ('options' in issue && issue.options) || []);
      return invalidType(at, issue.errors.map(([first]) => describeExpected(first)).join(' or '), value);
    case 'too_small':
      return tooSmall(issue, at, value);
    case 'too_big':
      return tooBig(issue, at, value);
    case 'invalid_value':
      return notOneOf(at, value, issue.values);
    case 'invalid_format': {
      const message = `Invalid value: ${quote(value)} for '${at}'. It must match the pattern ${issue.pattern ?? issue.format}.`;
      return invalidValue(at, message);
    }
    case 'not_multiple_of':
    case 'unrecognized_keys':
    case 'invalid_key':
    case 'invalid_element':
      return invalidValue(at, `Invalid value for '${at}': ${issue.message}.`);
  }
}

function describeExpected(issue: Issue | undefined): string {
  if (issue?.code === 'custom') return String(issue.params?.['expected']);
  return issue?.code === 'invalid_type' ? (expectedNames[issue.expected] ?? issue.expected) : 'another value';
}

const expectedNames: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  boolean: 'a boolean',
  object: 'an object',
  array: 'an array',
};

function tooSmall(issue: Issue & { code: 'too_small' }, at: string, value: unknown): ApiError {
  switch (issue.origin) {
    case 'string':
      return missingParameter(at, 'It must not be empty.');
    case 'array':
      return emptyArray(at);
    default: {
      // numbers: the issue's message is the kind of number
      const message = `Invalid '${at}': ${issue.message} below minimum value. Expected a value >= ${issue.minimum}, but got ${quote(value)}.`;
      return ApiError.invalidRequest(`${issue.message}_below_min_value`, at, message);
    }
  }
}

function tooBig(issue: Issue & { code: 'too_big' }, at: string, value: unknown): ApiError {
  if (issue.origin === 'string') {
    const text = issue.message === 'key' ? String(issue.path.at(-1)) : String(value);
    const what = issue.message === 'key' ? 'the key is' : 'it is';
    return aboveMax('string', at, `${what} too long`, `${issue.maximum} characters`, text.length);
  }
  if (issue.origin === 'array') {
    const size = Array.isArray(value) ? value.length : Object.keys(value as object).length;
    return aboveMax('array', at, 'too many entries', issue.maximum, size);
  }
  const message = `Invalid '${at}': ${issue.message} above maximum value. Expected a value <= ${issue.maximum}, but got ${quote(value)}.`;
  return ApiError.invalidRequest(`${issue.message}_above_max_value`, at, message);
}

function findValue(root: unknown, path: Path): unknown {
  let value = root;
  for (const step of path) value = (value as Record<PropertyKey, unknown> | null | undefined)?.[step];
  return value;
}

/**
 * The issue that comes first in the document; a missing field comes after its siblings. The keys of each object on the way are read once,
 * however many issues it has: there may be a hundred thousand.
 */
function firstInDocument(root: unknown, issues: readonly Issue[]): Issue {
  let value = root;
  let candidates = issues;
  for (let depth = 0; ; depth++) {
    const [first, ...others] = candidates as readonly [Issue, ...Issue[]]; // a failed parse has issues, and no step loses all
    if (others.length === 0) return first;
    const here = candidates.find(({ path }) => path.length === depth);
    if (here !== undefined) return here;
    const steps = new Set(candidates.map(({ path }) => path[depth] as PropertyKey)); // paths that end here have returned
    const step = firstStep(value, steps);
    candidates = candidates.filter(({ path }) => path[depth] === step);
    value = (value as Record<PropertyKey, unknown> | null | undefined)?.[step];
  }
}

/** The key that comes first in an object. No schema reads the entries of a list, so there are no indexes. */
function firstStep(value: unknown, steps: ReadonlySet<PropertyKey>): PropertyKey {
  const [fallback = ''] = steps;
  if (steps.size === 1 || typeof value !== 'object' || value === null) return fallback;
  return Object.keys(value).find((key) => steps.has(key)) ?? fallback;
}
