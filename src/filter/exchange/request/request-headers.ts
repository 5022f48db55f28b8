import { digestFields } from '../response-headers.ts';
import type { Attributes, HeaderMap, HeaderMutation } from '../types.ts';
import { splitTarget } from './route.ts';

/** Headers that ask for a part of a response, or for no body if it has not changed: such a response cannot be translated. */
const conditionalHeaders = [
  'if-match',
  'if-none-match',
  'if-modified-since',
  'if-unmodified-since',
  'if-range',
  'range',
];

/** Headers that are wrong for the upstream's body, since they describe the client's bytes, and conditional ones. */
const staleHeaders = ['content-encoding', 'expect', ...conditionalHeaders, ...digestFields];

/** Changes the client's headers for a translated body; `contentLength` is null while it is not known. */
export function upstreamHeaders(
  headers: HeaderMap,
  given: {
    readonly path: string;
    readonly accept: string;
    readonly contentLength: number | null;
    readonly session?: Readonly<Record<string, string>>;
  },
): HeaderMutation {
  const { path, accept, contentLength, session } = given;
  // A compressed response would have to be decompressed first; servers that compress anyway are supported.
  const identity = { 'content-type': 'application/json', accept, 'accept-encoding': 'identity' };
  const set: Record<string, string> = { ':path': path, ...identity, ...session };
  const remove = staleHeaders.filter((name) => headers.has(name));
  if (contentLength === null) remove.push('content-length');
  else set['content-length'] = String(contentLength);
  return { set, remove };
}

/** Writes the header that routes a conversation's requests to one upstream; none without a key or its substitute. */
export function sessionHeaders(name: string | null, cacheKey: string | null): Readonly<Record<string, string>> {
  if (name === null || cacheKey === null || cacheKey === '') return {};
  // A key may be any text; a header's value may not.
  const isPlain = /^[\x21-\x7e]+$/.test(cacheKey);
  return { [name]: isPlain ? cacheKey : Buffer.from(cacheKey).toString('base64url') };
}

/** Changes the headers so that they ask for a complete, uncompressed list of models. */
export function wholeAndPlain(headers: HeaderMap): HeaderMutation {
  const remove = conditionalHeaders.filter((name) => headers.has(name));
  return { set: { 'accept-encoding': 'identity' }, remove };
}

export type HeaderFacts = Readonly<ReturnType<typeof readHeaderFacts>>;

export function readHeaderFacts(headers: HeaderMap) {
  return {
    requestId: headers.get('x-request-id') ?? null,
    method: headers.get(':method') ?? '',
    /** The path without the query, which may hold secrets. */
    path: splitTarget(headers.get(':path') ?? '')[0],
    authority: headers.get(':authority') ?? null,
    /** The client's trace (W3C Trace Context). */
    traceParent: headers.get('traceparent') ?? null,
    traceState: headers.get('tracestate') ?? null,
  };
}

/** Reads the headers that are among Envoy's attributes, of a request whose headers never come. */
export function readRequestAttributes(attributes: Attributes): HeaderMap {
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

/** Reads `content-length`; 0 if it is missing or not a length. */
export function readLength(headers: HeaderMap): number {
  const text = headers.get('content-length') ?? '';
  return /^\d+$/.test(text) ? Number(text) : 0;
}
