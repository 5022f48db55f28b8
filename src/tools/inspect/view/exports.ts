import { redactionMark } from '../../../formats/credentials/names.ts';
import type { ExchangeFile, ExchangeFileRequest } from '../../files/exchange-file.ts';
import { decodePiece, type ExchangeDetail, joinContent } from './join-parts.ts';

type Exchange = Pick<ExchangeDetail, 'row' | 'file'>;
type Response = ExchangeFile['chat_response'];

/**
 * Exchanges as an HTTP archive (HAR 1.2, http://www.softwareishard.com/blog/har-12-spec/): for each, an entry with the
 * client's side and, if it was called, one with the upstream's. `base` is where the client would send it, `version` this service's.
 */
export function buildHar(exchanges: readonly Exchange[], base: string, version: string): object {
  const entries = exchanges.flatMap((exchange) => {
    const { client_request: client, chat_request: chat, client_response, chat_response } = exchange.file;
    const ours = buildHarEntry('The client and the proxy', exchange, client, client_response, base);
    if (chat === null) return [ours];
    // Only Envoy knows the upstream of a request that does not name it.
    const upstream = findUpstreamUrl(chat, 'http://upstream');
    return [ours, buildHarEntry('The proxy and the upstream', exchange, chat, chat_response, upstream)];
  });
  return { log: { version: '1.2', creator: { name: 'responses-extproc inspector', version }, entries } };
}

export function findUpstreamUrl({ headers }: ExchangeFileRequest, base: string): string {
  const host = findHeader(headers, 'host');
  return host === '' ? base : `http://${host}`;
}

function buildHarEntry(
  comment: string,
  { row, file }: Exchange,
  request: ExchangeFileRequest,
  response: Response,
  base: string,
): object {
  const url = `${base}${request.path}`;
  const time = row.duration_ms ?? 0;
  const wait = Math.min(response?.pieces[0]?.at_ms ?? time, time);
  const http = { httpVersion: 'HTTP/1.1', cookies: [], headersSize: -1 };
  const text = 'body' in request ? request.body : request.base64;
  const mimeType = findHeader(request.headers, 'content-type');
  const body = { mimeType, text, ...('body' in request ? {} : { comment: 'in base64' }) };
  return {
    startedDateTime: file.started_at,
    time,
    request: {
      ...http,
      method: request.method,
      url,
      headers: request.headers,
      queryString: [...new URL(url).searchParams].map(([name, value]) => ({ name, value })),
      bodySize: new TextEncoder().encode(text).length,
      ...(text === '' ? {} : { postData: body }),
    },
    response: {
      ...http,
      status: response?.status ?? 0,
      statusText: '',
      headers: response?.headers ?? [],
      content: buildHarResponse(response),
      redirectURL: findHeader(response?.headers ?? [], 'location'),
      bodySize: -1,
      ...(response === null ? { comment: `no answer: ${file.outcome}` } : {}),
    },
    cache: {},
    timings: { send: 0, wait, receive: time - wait },
    comment,
  };
}

function buildHarResponse(response: Response): object {
  const { pieces, headers } = response ?? { pieces: [], headers: [] };
  const size = pieces.reduce((sum, piece) => sum + decodePiece(piece).length, 0);
  const content = joinContent(pieces);
  const body = 'text' in content ? content : { text: content.base64, encoding: 'base64' };
  return { size, mimeType: findHeader(headers, 'content-type'), ...body };
}

function findHeader(headers: ExchangeFileRequest['headers'], wanted: string): string {
  return headers.find(({ name }) => name === wanted)?.value ?? '';
}

/** The headers that curl writes itself, and those that the proxy adds. */
const leftOut =
  /^(host|content-length|transfer-encoding|connection|accept-encoding|user-agent|te|x-envoy-.*|x-forwarded-.*|x-request-id)$/;

/** A command that sends this request again, to `base` (`http://127.0.0.1:10000`). A credential becomes a shell variable to set first. */
export function writeCurl(request: ExchangeFileRequest, base: string): string {
  const body = 'body' in request ? request.body : null;
  const parts = [
    `curl -N -X ${quoteForShell(request.method)} ${quoteForShell(`${base}${request.path}`)}`,
    ...request.headers.filter(({ name }) => !leftOut.test(name)).map((header) => `-H ${writeHeader(header)}`),
    ...(body === null || body === '' ? [] : [`--data-binary ${quoteForShell(body)}`]),
  ];
  return parts.join(' \\\n  ');
}

/** Quotes a header for the shell. In a double-quoted word, `$API_KEY` stands for a redacted credential. */
function writeHeader({ name, value }: ExchangeFileRequest['headers'][number]): string {
  if (value !== redactionMark) return quoteForShell(`${name}: ${value}`);
  return `"${name}: ${name === 'authorization' ? 'Bearer ' : ''}$API_KEY"`;
}

function quoteForShell(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
