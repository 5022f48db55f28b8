import { arrayOf, isGiven, jsonOf, objectOf, objectsOf, textOf } from '../../../../formats/json/loose.ts';
import type { LooseError, LooseErrorDetail, LooseErrorMetadata } from '../../../wire/schema/chat-completion.ts';

/** The fields of an upstream's error, whatever its shape. Absent fields are `''` or null. */
export interface ErrorReading {
  readonly message: string;
  readonly code: string;
  readonly type: string;
  readonly param: string | null;
  readonly status: number | null;
  /** Seconds, from Gemini's `retryDelay`. */
  readonly retryAfter: number | null;
  /** The server behind a router (OpenRouter) that failed. */
  readonly provider: string | null;
}

const nothing: ErrorReading = {
  message: '',
  code: '',
  type: '',
  param: null,
  status: null,
  retryAfter: null,
  provider: null,
};

/** Reads the body of an error answer (docs/answers.md §1.11): JSON of any vendor, SSE text, plain text; not HTML. */
export function readErrorBody(body: string, contentType: string | null): ErrorReading {
  const text = body.trim();
  const value = readStructure(text) ?? readStructure(readSse(text));
  if (value !== undefined) return readErrorValue(value);
  return { ...nothing, message: isPlainText(text, contentType) ? text : '' };
}

/** Reads a text within an error: AIBrix and others put the whole body of a server there (aibrix#2578). */
function readText(text: string, depth: number): ErrorReading {
  const value = readStructure(text.trim()) ?? readStructure(readSse(text.trim()));
  const read = value === undefined ? nothing : readErrorValue(value, depth);
  return read.message === '' ? { ...nothing, message: text } : read;
}

/** Reads an error that is already a value: the whole body, the `error` in it, or one entry of a list. */
export function readErrorValue(value: unknown, depth = 0): ErrorReading {
  if (depth > 4) return nothing;
  if (typeof value === 'string') return readText(value, depth);
  if (Array.isArray(value)) return readList(value, depth);
  const object = objectOf<LooseError>(value);
  if (object === null) return nothing;
  const fields = readFields(object);
  const label = readLabel(object, fields);
  const own = { ...fields, code: fields.code || (label ?? '') };
  const within =
    isNonEmpty(object.error) && label === null
      ? object.error
      : own.message === ''
        ? [object.detail, object.errors, object.message].find(isNonEmpty)
        : readStructure(own.message) && own.message;
  if (within === undefined) return withReason(own, object, depth);
  const read = Object.entries(readErrorValue(within, depth + 1));
  return { ...own, ...Object.fromEntries(read.filter(([, field]) => field !== '' && field !== null)) };
}

/**
 * Reads an `error` that only labels the error whose message stands beside it: the code in it, or `''`. NestJS and Fastify write `Bad Request`
 * there, Spring Boot `Service Unavailable`, OAuth's servers `invalid_request`. Null where `error` is the error itself.
 */
function readLabel({ error, detail, message }: LooseError, fields: ErrorReading): string | null {
  if (typeof error !== 'string' || (fields.message === '' && ![detail, message].some(isNonEmpty))) return null;
  return /^[a-z0-9_]+$/.test(error) ? error : '';
}

/** A string with text, an object or list with entries: `error: null`, `""`, `{}` and `false` are no errors. */
export function isNonEmpty(value: unknown): boolean {
  return (typeof value === 'string' || typeof value === 'object') && isGiven(value);
}

/** Reads a list. The faults in FastAPI's and Mistral's are joined; in any other (Gemini's array of one) the first with a message counts. */
function readList(values: readonly unknown[], depth: number): ErrorReading {
  const faults = objectsOf<LooseError>(values).filter(({ msg }) => typeof msg === 'string');
  if (faults.length > 0) {
    const place = arrayOf(faults[0]?.loc).filter((step) => step !== 'body');
    return {
      ...nothing,
      message: faults.map(({ msg }) => textOf(msg)).join('; '),
      param: place.length > 0 ? place.join('.') : null,
    };
  }
  for (const value of values) {
    const read = readErrorValue(value, depth + 1);
    if (read.message !== '') return read;
  }
  return nothing;
}

function readFields(object: LooseError): ErrorReading {
  const { code, status, param } = object;
  return {
    ...nothing,
    message:
      [object.message, object.Message, object.msg, object.error_message, object.error_description, object.status_msg]
        .map(textOf)
        .find((text) => text !== '') ?? '',
    code: readCode(code) || readCode(status).toLowerCase() || readCode(object.status_code),
    type: textOf(object.type) || textOf(object.error_type),
    param: typeof param === 'string' && param !== '' ? param : null,
    status: readStatus(code) ?? readStatus(status) ?? readStatus(object.status_code) ?? readStatus(object.statusCode),
    retryAfter: readRetryDelay(object.details),
  };
}

/** Reads a code in words, or a vendor's own number; an HTTP status is not a code. */
function readCode(code: unknown): string {
  if (readStatus(code) !== null) return '';
  return typeof code === 'number' ? String(code) : textOf(code);
}

function readStatus(code: unknown): number | null {
  const status = typeof code === 'string' && /^\d{3}$/.test(code) ? Number(code) : code;
  return typeof status === 'number' && Number.isInteger(status) && status >= 400 && status <= 599 ? status : null;
}

/** Gemini: `details: [{"@type": "…RetryInfo", "retryDelay": "12s"}]`. */
function readRetryDelay(details: unknown): number | null {
  for (const { retryDelay } of objectsOf<LooseErrorDetail>(details)) {
    const seconds = /^(\d{1,6}(?:\.\d{1,9})?)s$/.exec(textOf(retryDelay))?.[1];
    if (seconds !== undefined) return Number(seconds);
  }
  return null;
}

/**
 * Adds the details that stand beside the message. OpenRouter's “Provider returned error” has the provider and its message in `metadata`;
 * an error that a gateway caught has a `value` or a `cause` (vercel/ai#18303).
 */
function withReason(reading: ErrorReading, error: LooseError, depth: number): ErrorReading {
  const metadata = objectOf<LooseErrorMetadata>(error.metadata);
  const provider = textOf(metadata?.provider_name);
  const reasons = [metadata?.raw, error.value, error.cause].map((given) => readReason(given, depth));
  const reason = reasons.find((words) => words !== '' && words !== reading.message) ?? '';
  const named = provider === '' ? reading.message : `${reading.message} (${provider})`;
  return { ...reading, message: reason === '' ? named : `${named}: ${reason}`, provider: provider || null };
}

function readReason(given: unknown, depth: number): string {
  const { message } = readErrorValue(typeof given === 'string' ? given.trim() : given, depth + 1);
  return readStructure(message) === undefined && isPlainText(message, null) ? message : '';
}

/** Reads the data of an SSE event: some servers refuse a stream with one (DashScope, SGLang), or with the field `error:` (llama.cpp). */
function readSse(text: string): string {
  return /^(?:event|id|data|retry|error)?:/.test(text) ? (/^(?:data|error):(.*)$/m.exec(text)?.[1]?.trim() ?? '') : '';
}

/** Is the text neither a proxy's markup nor binary data, such as a compressed body? */
function isPlainText(text: string, contentType: string | null): boolean {
  if (contentType?.includes('html') || contentType?.includes('xml') || text.startsWith('<')) return false;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: binary data has control characters
  return !/[\u0000-\u0008\u000e-\u001f\ufffd]/.test(text);
}

function readStructure(text: string): unknown {
  return /^[{[]/.test(text) ? jsonOf(text) : undefined;
}
