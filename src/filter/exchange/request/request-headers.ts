import { digestFields } from '../response-headers.ts';
import type { Attributes, HeaderMap, HeaderMutation } from '../types.ts';
import { pathAndQuery } from './route.ts';

/** Headers that ask for a part of a response, or for none if it has not changed: such a response cannot be translated. */
const conditionalHeaders = [
  'if-match',
  'if-none-match',
  'if-modified-since',
  'if-unmodified-since',
  'if-range',
  'range',
];

/** Headers that describe the client's bytes, which are not the ones sent upstream, and those above. */
const staleHeaders = ['content-encoding', 'expect', ...conditionalHeaders, ...digestFields];

/** The changes to the client's headers for a translated body; `contentLength` is null where it is not known yet. */
export function upstreamHeaders(
  headers: HeaderMap,
  {
    path,
    accept,
    contentLength,
    session,
  }: Readonly<Record<'path' | 'accept', string>> & {
    readonly contentLength: number | null;
    readonly session?: Readonly<Record<string, string>>;
  },
): HeaderMutation {
  const set: Record<string, string> = {
    ':path': path,
    'content-type': 'application/json',
    accept,
    // A compressed response would have to be decompressed first; servers that compress anyway are still supported.
    'accept-encoding': 'identity',
    ...session,
  };
  const remove = staleHeaders.filter((name) => headers.has(name));
  if (contentLength === null) remove.push('content-length');
  else set['content-length'] = String(contentLength);
  return { set, remove };
}

/** The header of that name that routes a conversation's requests to one upstream; none without a key or its substitute. */
export function sessionHeaders(name: string | null, cacheKey: string | null): Readonly<Record<string, string>> {
  if (name === null || cacheKey === null || cacheKey === '') return {};
  // A key may be any text; a header's value may not.
  const isPlain = /^[\x21-\x7e]+$/.test(cacheKey);
  return { [name]: isPlain ? cacheKey : Buffer.from(cacheKey).toString('base64url') };
}

/** The changes that ask for a complete, uncompressed list of models. */
export function wholeAndPlain(headers: HeaderMap): HeaderMutation {
  const remove = conditionalHeaders.filter((name) => headers.has(name));
  return { set: { 'accept-encoding': 'identity' }, remove };
}

/** Facts from the headers that a log line needs. */
export type HeaderFacts = Readonly<ReturnType<typeof factsOf>>;

/** Reads from a request's headers the facts that a log line needs. */
export function factsOf(headers: HeaderMap) {
  return {
    requestId: headers.get('x-request-id') ?? null,
    method: headers.get(':method') ?? '',
    /** Without the query, which may hold secrets. */
    path: pathAndQuery(headers.get(':path') ?? '')[0],
    /** The host the client asked. */
    authority: headers.get(':authority') ?? null,
    /** The `traceparent` header of the client's trace (W3C Trace Context). */
    traceParent: headers.get('traceparent') ?? null,
    traceState: headers.get('tracestate') ?? null,
  };
}

/** The headers of a request that Envoy's attributes tell, where it sends no others. */
export function headersOf(attributes: Attributes): HeaderMap {
  const headers = new Map<string, string>();
  for (const [attribute, header] of headersOfAttributes) {
    const value = attributes.get(attribute);
    if (value !== undefined) headers.set(header, value);
  }
  return headers;
}

const headersOfAttributes = [
  ['request.id', 'x-request-id'],
  ['request.method', ':method'],
  ['request.path', ':path'],
] as const;

/** Bytes according to `content-length`; 0 if it is missing or not a length. */
export function lengthOf(headers: HeaderMap): number {
  const text = headers.get('content-length') ?? '';
  return /^\d+$/.test(text) ? Number(text) : 0;
}
