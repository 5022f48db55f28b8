import { redactText } from '../../../formats/credentials/urls.ts';
import { arrayOf, objectOf } from '../../../formats/json/loose.ts';
import type { Profile } from '../../upstream/profile.ts';
import { ApiError, type ApiErrorType } from '../../wire/schema/api-error.ts';
import type { LooseChoice, LooseChunk, LooseError, LooseGroqExtras } from '../../wire/schema/chat-completion.ts';
import { ownCopy } from '../shared/held-bytes.ts';
import { saysContextOverflow } from './read/context-overflow.ts';
import { type ErrorReading, isNonEmpty, readErrorBody, readErrorValue } from './read/error-body.ts';

export interface ErrorAnswer {
  readonly status: number;
  readonly contentType: string | null;
  readonly body: string;
  readonly retryAfter: string | null;
}

/** A profile's own wordings for a prompt that is too long. */
export type Wordings = Profile['contextOverflow'];

/** Maximum UTF-8 bytes of an upstream's message that a client gets. */
const maxMessageBytes = 2048;

/** The client’s error for an error answer (docs/answers.md §1.11, §1.12), with `retry-after` if known. Never throws. */
export function translateError(answer: ErrorAnswer, wordings: Wordings = []): ApiError {
  const reading = readErrorBody(answer.body, answer.contentType);
  return readLocalReply(answer) ?? buildError(reading, answer.status, wordings, answer.retryAfter);
}

/**
 * Finds the error inside a 200: in a JSON answer (xAI, one-api) or in a stream's chunk (OpenRouter, vLLM, SGLang, TGI). An error
 * that names no HTTP status counts as 502 with the code `upstream_error`.
 */
export function findError(value: unknown, wordings: Wordings = []): ApiError | null {
  const error = findErrorObject(value);
  if (error === null) return null;
  const reading = readErrorValue(error);
  const { code } = reading;
  const named = reading.status ?? findStatusInWords(reading);
  const status = named ?? 502;
  // An error beside choices comes from a router (OpenRouter): the model that it chose failed, unless the status or the wording shows
  // an overload, a timeout, or a fault of the request or the account.
  const isRouters = Array.isArray(objectOf<LooseChunk>(value)?.choices) && (status === 500 || status === 502);
  if (isRouters && findKindInWords(status, reading) === null && !isContextOverflow(reading, wordings))
    return ApiError.ofModel(shown(code) || 'upstream_error', messageOf(reading, status));
  return buildError({ ...reading, code: code || (named === null ? 'upstream_error' : '') }, status, wordings);
}

/**
 * Is the error sent within a stream under a 200, where the client asked for a stream? OpenAI does so for a prompt that is too long, and Codex
 * up to 0.168 compacts only then, and never after a 400 (docs/decisions/0011-full-context-in-streams.md).
 */
export function isToldInStream({ code }: ApiError): boolean {
  return code === 'context_length_exceeded';
}

/** Reads the error in an event of the name `error`, which is an error whatever its data. */
export function readErrorEvent(value: unknown, wordings: Wordings = []): ApiError | null {
  return findError({ error: isNonEmpty(value) ? value : wordless }, wordings);
}

const wordless = 'The upstream reported an error without a message.';

/** Finds the upstream's message in a value that stands where a completion or a chunk should. */
export function findErrorInWords(value: unknown, wordings: Wordings = []): ApiError | null {
  const reading = readErrorValue(objectOf(value));
  if (reading.message === '') return null;
  const code = reading.code || (reading.status === null ? unreadable : '');
  return buildError({ ...reading, code }, reading.status ?? 502, wordings);
}

const unreadable = 'invalid_upstream_response';

/** Finds the upstream's message in a stream's data that is not JSON; null if the data is markup, or broken JSON. */
export function findErrorInText(text: string, wordings: Wordings = []): ApiError | null {
  const reading = /^\s*(?:[{["]|[^\s{]{1,3}\{\s*")/.test(text) ? null : readErrorBody(text, null);
  if (reading === null || reading.message === '') return null;
  return buildError({ ...reading, code: reading.code || unreadable }, 502, wordings);
}

const statusOfWord = new Map([
  ['invalid_request_error', 400], // OpenAI and Anthropic: the types up to `overloaded_error`
  ['authentication_error', 401],
  ['permission_error', 403],
  ['not_found_error', 404],
  ['request_too_large', 413],
  ['rate_limit_error', 429],
  ['server_error', 500],
  ['api_error', 500],
  ['timeout_error', 504],
  ['overloaded_error', 529],
  ['invalid_api_key', 401], // OpenAI's codes
  ['model_not_found', 404],
  ['rate_limit_exceeded', 429],
  ['rate_limit', 429], // gateways
  ['engine_overloaded_error', 429], // Moonshot
]);

function findStatusInWords({ code, type }: ErrorReading): number | null {
  return outOfMoney.get(code) ?? outOfMoney.get(type) ?? statusOfWord.get(code) ?? statusOfWord.get(type) ?? null;
}

function findErrorObject(value: unknown): unknown {
  if (Array.isArray(value)) return value.some((entry) => isNonEmpty(objectOf<LooseError>(entry)?.error)) ? value : null;
  const body = objectOf<LooseChunk>(value);
  if (body === null) return null;
  if (isNonEmpty(body.error) || body.error === true || body.object === 'error' || body.type === 'error') return body;
  // Groq: why a stream was stopped early.
  const groq = body.x_groq == null ? undefined : objectOf<LooseGroqExtras>(body.x_groq)?.error;
  if (isNonEmpty(groq)) return groq;
  const minimax = objectOf<LooseError>(body.base_resp);
  if (minimax !== null && isNonEmpty(minimax.status_msg) && minimax.status_code !== 0) return minimax;
  // Several choices are parts of one answer, since more than one is never asked for: an error in any choice fails the answer.
  for (const choice of arrayOf(body.choices)) {
    const inChoice = objectOf<LooseChoice>(choice)?.error;
    if (isNonEmpty(inChoice)) return inChoice;
  }
  return null;
}

/** Envoy's own plain-text answers, with the messages for clients. Their details about addresses and TLS are for the operator. */
const localReplies: readonly (readonly [start: string, code: string, message: string])[] = [
  [
    'upstream connect error or disconnect/reset before headers',
    'upstream_unavailable',
    'The upstream could not be reached, or closed the connection before it answered.',
  ],
  ['no healthy upstream', 'upstream_unavailable', 'No healthy upstream is available.'],
  ['upstream request timeout', 'upstream_timeout', 'The upstream did not answer in time.'],
  ['stream timeout', 'request_timeout', 'The request took too long and was cancelled.'],
];

function readLocalReply({ status, body, retryAfter }: ErrorAnswer): ApiError | null {
  const text = body.trimStart();
  const reply = localReplies.find(([start]) => text.startsWith(start));
  if (reply === undefined) return null;
  const [, code, message] = reply;
  return buildError({ ...readErrorValue(message), code }, code === 'upstream_timeout' ? 504 : status, [], retryAfter);
}

function buildError(reading: ErrorReading, status: number, wordings: Wordings, header: string | null = null): ApiError {
  const message = messageOf(reading, status);
  if (isContextOverflow(reading, wordings))
    return new ApiError(message, { status: 400, code: 'context_length_exceeded', param: 'input' });
  const kind = findKind(status, reading);
  // Waiting does not help an account without money, even if a gateway adds `retry-after` to each 429.
  const mayWait = kind.code !== 'insufficient_quota';
  const given = header ?? (reading.retryAfter === null ? null : String(Math.ceil(reading.retryAfter)));
  const retryAfter = mayWait ? given : null;
  return new ApiError(mayWait && kind.status === 429 ? withRetryHint(message, reading, header) : message, {
    status: kind.status,
    type: kind.type,
    code: kind.isCodeOwn ? kind.code : shown(reading.code) || kind.code,
    param: clientParam(reading.param) ?? kind.param ?? null,
    ...(retryAfter !== null && { headers: { 'retry-after': retryAfter } }),
  });
}

/** The Responses field that a Chat field is made from. Other fields have the same name in both APIs. */
const fieldsOfClients = new Map([
  ['messages', 'input'],
  ['prompt', 'input'],
  ['input_tokens', 'input'], // vLLM, for a prompt longer than its context
  ['image', 'input'], // vLLM, for media that it does not take
  ['audio', 'input'],
  ['video', 'input'],
  ['max_tokens', 'max_output_tokens'],
  ['max_completion_tokens', 'max_output_tokens'],
  ['max_new_tokens', 'max_output_tokens'],
  ['response_format', 'text.format'],
  ['reasoning_effort', 'reasoning.effort'],
  ['verbosity', 'text.verbosity'],
  ['logprobs', 'top_logprobs'],
  ['functions', 'tools'],
  ['tools', 'tools'],
  ['tool_choice', 'tool_choice'],
  ['function_call', 'tool_choice'],
]);

/** The client's field for an upstream's `param`: `input` for `body.messages.0.role`, whose indices are not the client's. */
function clientParam(param: string | null): string | null {
  if (param === null) return null;
  const own = shown(param).replace(/^body\.(?=.)/, '');
  return fieldsOfClients.get(/^\w*/.exec(own)?.[0] ?? '') ?? own;
}

interface Kind {
  readonly status: number;
  readonly type: ApiErrorType;
  readonly code: string;
  /** True where `code` is shown in place of the upstream's own. */
  readonly isCodeOwn?: true;
  /** The field at fault, if the upstream names none. */
  readonly param?: string;
}

/** The rows of docs/answers.md §1.12 that change the status, or have a code of their own. */
const kinds = new Map<number, Kind>();
function row(statuses: readonly number[], status: number | null, type: ApiErrorType, code: string): void {
  for (const given of statuses) kinds.set(given, { status: status ?? given, type, code });
}
row([400, 405, 409, 410, 415, 422, 424], null, 'invalid_request', 'invalid_request');
row([401], null, 'invalid_request', 'invalid_api_key');
row([402], null, 'invalid_request', 'insufficient_quota');
row([403], null, 'invalid_request', 'permission_denied');
row([404], null, 'not_found', 'not_found');
row([408], null, 'server_error', 'request_timeout');
row([413], null, 'invalid_request', 'request_too_large');
row([429, 498], 429, 'too_many_requests', 'rate_limit_exceeded');
row([499], null, 'server_error', 'client_closed_request');
row([500], null, 'server_error', 'server_error');
row([501], null, 'server_error', 'not_implemented');
row([502, 520, 521, 522, 523, 525, 526, 527], 502, 'server_error', 'upstream_unavailable');
row([503, 529], 503, 'server_error', 'server_overloaded');
row([504, 524], 504, 'server_error', 'upstream_timeout');

/** Types and codes of an error for an account without money, each with the status of such an error inside a 200. */
const outOfMoney = new Map([
  ['insufficient_quota', 429], // OpenAI
  ['exceeded_current_quota_error', 429], // Moonshot
  ['1113', 429], // Zhipu
  ['insufficient_balance', 429], // MiniMax, gateways
  ['billing_hard_limit_reached', 429], // OpenAI
  ['billing_error', 402], // Anthropic
]);
/** The statuses with which servers send errors for an account without money. */
const statusesOfAccounts = new Set([400, 402, 403, 429]);

/** The wordings of servers whose model takes only text, under any status. */
const mediaWordings: readonly RegExp[] = [
  /\b(?:image|audio|video) input is not supported/, // llama.cpp
  /model does not support (?:image|audio|video) input/, // Ollama: ollama#17301
  /is not a multimodal model|at most 0 (?:image|audio|video)\(s\) may be provided/, // vLLM
  /no endpoints found that support (?:image|audio|video) input/, // OpenRouter: goose#5396
  /unknown variant `?(?:image_url|input_audio|video_url)/, // DeepSeek: next-ai-draw-io#55
  /model doesn't support the (?:image|audio|video) field/, // Bedrock: pi#8960
  /only 'text' content type is supported/, // mlx_lm.server
];

const unsupportedMedia = new RegExp(mediaWordings.map(({ source }) => `(?:${source})`).join('|'), 'i');

/** The wordings of llama.cpp of 2025 for a schema that it cannot make a grammar of (llama.cpp#14227). */
const schemaFault = /\bschema conversion failed\b|\bfailed to parse grammar\b/i;

const templateFault = /\bjinja\b|\braise_exception\b/i;

function findKindInWords(status: number, { type, message, code }: ErrorReading): Kind | null {
  // The status does not help: SDKs try three times after llama.cpp's 500, and OpenRouter's 404 is not about the model.
  if (unsupportedMedia.test(message.slice(0, maxMessageBytes)))
    return { status: 400, type: 'invalid_request', code: 'unsupported_value', param: 'input' };
  // Groq: the model wrote a call that could not be read. Another try may do better, so it is no error of the request.
  if (code === 'tool_use_failed')
    return { status: 502, type: 'model_error', code: 'invalid_tool_call', isCodeOwn: true };
  // A template that refuses the messages, or a schema that is refused, stays so: trying again changes nothing.
  if (status >= 500 && templateFault.test(message))
    return { status: 400, type: 'invalid_request', code: 'invalid_request', isCodeOwn: true, param: 'input' };
  if (status >= 500 && schemaFault.test(message))
    return { status: 400, type: 'invalid_request', code: 'invalid_request', isCodeOwn: true };
  // NIM, for some minutes.
  if (/DEGRADED function/.test(message)) return kinds.get(503) ?? null;
  const ofAccount = statusesOfAccounts.has(status) ? kinds.get(status) : undefined;
  // A 402 is always about money: DeepSeek sends it with the code `invalid_request_error`.
  if (ofAccount !== undefined && (status === 402 || outOfMoney.has(type) || outOfMoney.has(code)))
    return { ...ofAccount, code: 'insufficient_quota', isCodeOwn: true };
  return null;
}

function findKind(status: number, reading: ErrorReading): Kind {
  const { message, provider } = reading;
  const byWords = findKindInWords(status, reading);
  if (byWords !== null) return byWords;
  const known = kinds.get(status);
  if (status === 404 && /model/i.test(message))
    return { status, type: 'not_found', code: 'model_not_found', param: 'model' };
  if (status === 500 && provider !== null) return { status, type: 'model_error', code: 'upstream_error' };
  if (known !== undefined) return known;
  if (status >= 300 && status <= 399) return { status: 502, type: 'server_error', code: 'upstream_redirect' };
  if (status >= 400 && status <= 499) return { status, type: 'invalid_request', code: `http_${status}` };
  if (status >= 500 && status <= 599) return { status, type: 'server_error', code: `http_${status}` };
  return { status: 502, type: 'server_error', code: 'invalid_upstream_response' };
}

function isContextOverflow({ message, code, type }: ErrorReading, wordings: Wordings): boolean {
  const words = [code, type, message].map((text) => text.slice(0, maxMessageBytes));
  return saysContextOverflow(words.join(' '), wordings);
}

function messageOf({ message }: ErrorReading, status: number): string {
  return message === '' ? `Upstream returned HTTP ${status}` : shown(message);
}

/** Removes credentials, before it cuts: servers quote the key that they were sent, which a gateway may have set, in any field. */
function shown(text: string): string {
  return ownCopy(cut(redactText(beginningOf(text))));
}

/** Characters of an error's message that are searched for credentials: more than is shown, since their mark is shorter than they are. */
const maxSearched = 8192;

/** The beginning of a message, up to its last whole word: half a credential may not look like one. */
function beginningOf(text: string): string {
  if (text.length <= maxSearched) return text;
  let end = maxSearched;
  while (end > maxSearched / 2 && /[!-~]/.test(text[end - 1] ?? '')) end -= 1;
  return `${text.slice(0, end)}…`;
}

/** Codex reads the delay from the message: `try again in 7s`. A date in `retry-after` is left out: it would need a clock. */
function withRetryHint(message: string, reading: ErrorReading, retryAfter: string | null): string {
  const seconds =
    retryAfter !== null && /^\d{1,6}(\.\d+)?$/.test(retryAfter.trim()) ? Number(retryAfter) : reading.retryAfter;
  if (seconds === null || /try again in\s*\d/i.test(message)) return message;
  return `${message}${/[.!?]$/.test(message) ? '' : '.'} Please try again in ${seconds}s.`;
}

/** At most `maxMessageBytes` of UTF-8, without half a character at the end. */
function cut(text: string): string {
  if (Buffer.byteLength(text) <= maxMessageBytes) return text;
  const kept = Buffer.alloc(maxMessageBytes - 3); // room for the ellipsis
  return `${text.slice(0, new TextEncoder().encodeInto(text, kept).read)}…`;
}
