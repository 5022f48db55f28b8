import type { PassedOperation } from '../../translate/operations/operation.ts';
import type { TranslatedOperation } from '../../translate/request-to-chat/translated-operation.ts';
import { operations } from '../../translate/translate-request.ts';
import { ApiError } from '../../wire/schema/api-error.ts';
import type { HeaderMap } from '../types.ts';

/** The way to handle a request, chosen by its headers alone. */
export type Route =
  | { readonly type: 'translate'; readonly path: RequestPath; readonly operation: TranslatedOperation }
  | { readonly type: 'refuse'; readonly error: ApiError }
  /** `operation` completes the answer, if it is not null. `withoutBody`: the request passes only without a body. */
  | { readonly type: 'pass'; readonly operation: PassedOperation | null; readonly withoutBody: boolean };

/** The parts of `:path` around `/v1/responses` that go upstream. */
export interface RequestPath {
  /** The beginning of the path, as the client wrote it; mostly empty. */
  readonly prefix: string;
  /** The query's `api-version=…`, which Azure requires; otherwise empty. */
  readonly apiVersion: string;
}

/** Chooses by the path: an operation, stored state, another spelling of a path of the API, or any other path. */
export function chooseRoute(headers: HeaderMap): Route {
  const method = headers.get(':method') ?? 'GET';
  const target = headers.get(':path') ?? '';
  const [path, query] = splitTarget(target);
  const raw = (path.endsWith('/') ? path.slice(0, -1) : path).split('/');
  const segments = path.includes('%') ? raw.map(decodeSegment) : raw;
  const at = segments.findLastIndex((segment, index) => segment === 'v1' && isOwn(segments[index + 1]));
  if (at === -1) {
    const meant = findMeantPath(path);
    if (meant !== null) return { type: 'refuse', error: notFound(`Not found. Did you mean ${meant}?`) };
    return { type: 'pass', operation: findPassedOperation(method, segments, query), withoutBody: false };
  }
  if (segments[at + 1] === 'conversations') return { type: 'refuse', error: nothingStored('Conversations are') };
  const operation = translated.find(({ path: its }) => isEnd(its, segments, at));
  if (operation === undefined) return { type: 'refuse', error: nothingStored('Responses are') };
  // HTTP/1.1 uses `upgrade`, HTTP/2 an extended CONNECT (RFC 8441).
  if ((headers.get('upgrade') ?? headers.get(':protocol') ?? '').toLowerCase() === 'websocket') {
    const message = 'WebSockets are not available here. Use HTTP, with "stream": true for events.';
    return { type: 'refuse', error: new ApiError(message, { status: 426, code: 'websocket_not_supported' }) };
  }
  // A browser's CORS preflight is answered by the upstream or by Envoy's own filter.
  if (method === 'OPTIONS') return { type: 'pass', operation: null, withoutBody: true };
  // The list of stored responses.
  if (method === 'GET' && at + 2 === segments.length) return { type: 'refuse', error: nothingStored('Responses are') };
  if (method !== operation.method) {
    const message = `${method} is not allowed on /${operation.path.join('/')}: use ${operation.method}.`;
    const headers = { allow: operation.method };
    return { type: 'refuse', error: new ApiError(message, { status: 405, code: 'method_not_allowed', headers }) };
  }
  const apiVersion = query.split('&').find((pair) => pair.startsWith('api-version=')) ?? '';
  return { type: 'translate', operation, path: { prefix: raw.slice(0, at).join('/'), apiVersion } };
}

/** Splits a request target at the first `?`; the query is empty without one. */
export function splitTarget(target: string): readonly [path: string, query: string] {
  const at = target.indexOf('?');
  return at === -1 ? [target, ''] : [target.slice(0, at), target.slice(at + 1)];
}

const translated = operations.filter((operation) => operation.type === 'translated');
const passed = operations.filter((operation) => operation.type === 'passed');

function findPassedOperation(method: string, segments: readonly string[], query: string): PassedOperation | null {
  const isAsked = ({ method: its, path, parameter }: PassedOperation) =>
    method === its &&
    isEnd(path, segments, segments.length - path.length) &&
    query.split('&').some((pair) => pair.startsWith(`${parameter}=`));
  return passed.find(isAsked) ?? null;
}

/** Is `path` what the segments end in, from `at` on? */
function isEnd(path: readonly string[], segments: readonly string[], at: number): boolean {
  return at + path.length === segments.length && path.every((segment, index) => segment === segments[at + index]);
}

/** Writes the upstream's path: `template` for `/v1/responses`, with `{model}` filled in. Of the query, only Azure's `api-version` is kept. */
export function upstreamPath(template: string, { prefix, apiVersion }: RequestPath, model: string): string {
  if (prefix === '' && apiVersion === '' && !pathNeedsModel(template)) return template;
  // A client with the upstream's base in its URL (`/openai/v1/responses` for Groq) has sent the beginning of the template already.
  const base = template.slice(0, Math.max(0, template.indexOf('/v1/')));
  const kept = prefix.endsWith(base) ? prefix.slice(0, prefix.length - base.length) : prefix;
  // A path is ASCII (RFC 3986); other characters that a lenient proxy let through are escaped.
  const path =
    kept.replace(/[^\x21-\x7e]/gu, encodeURIComponent) + template.replaceAll('{model}', () => encodeModel(model));
  return apiVersion === '' || path.includes('?') ? path : `${path}?${apiVersion}`;
}

/** Encodes the model as one segment. Throws `ApiError` for `.`, `..`, which disappear from a path (RFC 3986 §5.2.4), and lone surrogates. */
function encodeModel(model: string): string {
  if (model === '.' || model === '..' || /\p{Surrogate}/u.test(model))
    throw ApiError.invalidRequest(
      'invalid_value',
      'model',
      `Invalid 'model': this name cannot be part of the upstream's path. Send the name that the upstream uses for the model.`,
    );
  return encodeURIComponent(model);
}

/** Does the path contain the model, and so depend on the body? */
export function pathNeedsModel(template: string): boolean {
  return template.includes('{model}');
}

/** Decodes a segment, since `/v1/%72esponses` is `/v1/responses` (RFC 3986 §6.2.2.2); one that cannot be decoded stays as it is. */
function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/** Finds the path of this API for which a lenient server may take `path`: by case, `;x` (RFC 3986 §3.3), empty segments, dots, escapes. */
function findMeantPath(path: string): string | null {
  const segments: string[] = [];
  for (const part of path.split('/').map(decodeSegment).join('/').split(/[/\\]/)) {
    const segment = (part.split(';', 1)[0] ?? '').replaceAll(/[\0-\x20]/g, '').toLowerCase();
    if (segment === '..') segments.pop();
    else if (segment !== '' && segment !== '.') segments.push(segment);
  }
  const at = segments.findIndex((segment, index) => segment === 'v1' && isOwn(segments[index + 1]));
  return at === -1 ? null : `/v1/${segments[at + 1]}`;
}

function isOwn(segment: string | undefined): boolean {
  return segment === 'responses' || segment === 'conversations';
}

function nothingStored(what: string): ApiError {
  return notFound(`${what} not stored here. Send the full conversation as 'input' of POST /v1/responses.`);
}

function notFound(message: string): ApiError {
  return new ApiError(message, { status: 404, code: 'not_found' });
}
