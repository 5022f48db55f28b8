import type { ExchangeFile, ExchangeFileRequest } from '../../files/exchange-file.ts';
import { bytesOf, contentOf, type ExchangeDetail } from './join-parts.ts';

type Exchange = Pick<ExchangeDetail, 'row' | 'file'>;
type Response = ExchangeFile['chat_response'];

/**
 * Exchanges as an HTTP archive (HAR 1.2, http://www.softwareishard.com/blog/har-12-spec/): for each, an entry with the
 * client's side and, if it was called, one with the upstream's. `base` is where the client would send it, `version` this service's.
 */
export function harOf(exchanges: readonly Exchange[], base: string, version: string): object {
  const entries = exchanges.flatMap((exchange) => {
    const { client_request: client, chat_request: chat, client_response, chat_response } = exchange.file;
    const ours = entryOf('The client and the proxy', exchange, client, client_response, base);
    if (chat === null) return [ours];
    // Where a request does not name it, Envoy alone knows its upstream: not the proxy's address.
    const upstream = upstreamOf(chat, 'http://upstream');
    return [ours, entryOf('The proxy and the upstream', exchange, chat, chat_response, upstream)];
  });
  return { log: { version: '1.2', creator: { name: 'responses-extproc inspector', version }, entries } };
}

/** The upstream's URL, if the request's headers contain it; otherwise the proxy's own base URL. */
export function upstreamOf({ headers }: ExchangeFileRequest, base: string): string {
  const host = headerOf(headers, 'host');
  return host === '' ? base : `http://${host}`;
}

function entryOf(
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
  const mimeType = headerOf(request.headers, 'content-type');
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
      content: answerOf(response),
      redirectURL: headerOf(response?.headers ?? [], 'location'),
      bodySize: -1,
      ...(response === null ? { comment: `no answer: ${file.outcome}` } : {}),
    },
    cache: {},
    timings: { send: 0, wait, receive: time - wait },
    comment,
  };
}

function answerOf(response: Response): object {
  const { pieces, headers } = response ?? { pieces: [], headers: [] };
  const size = pieces.reduce((sum, piece) => sum + bytesOf(piece).length, 0);
  const content = contentOf(pieces);
  const body = 'text' in content ? content : { text: content.base64, encoding: 'base64' };
  return { size, mimeType: headerOf(headers, 'content-type'), ...body };
}

function headerOf(headers: ExchangeFileRequest['headers'], wanted: string): string {
  return headers.find(({ name }) => name === wanted)?.value ?? '';
}
