import type {
  ExchangeFile,
  ExchangeFilePiece,
  ExchangeFileRequest,
} from '../../../filter/wire/schema/exchange-file.ts';
import type { ExchangeDetail } from '../exchange-json.ts';
import { bytesOfBase64 } from './timeline.ts';

/**
 * Exchanges as an HTTP archive (HAR 1.2, http://www.softwareishard.com/blog/har-12-spec/): for each, an entry with the
 * client's side and, if it was called, one with the upstream's. `base` is where the client would send it, `version` this service's.
 */
export function harOf(exchanges: readonly ExchangeDetail[], base: string, version: string): object {
  return {
    log: {
      version: '1.2',
      creator: { name: 'responses-extproc inspector', version },
      entries: exchanges.flatMap(({ row, file }) => {
        const { client_request: client, chat_request: chat } = file;
        const duration = row.duration_ms ?? 0;
        return [
          entryOf('The client and the proxy', file, client, file.client_response, `${base}${client.path}`, duration),
          ...(chat === null
            ? []
            : [
                entryOf(
                  'The proxy and the upstream',
                  file,
                  chat,
                  file.chat_response,
                  upstreamUrl(chat, base),
                  duration,
                ),
              ]),
        ];
      }),
    },
  };
}

function upstreamUrl({ headers, path }: ExchangeFileRequest, base: string): string {
  const host = headerOf(headers, 'host');
  return `${host === '' ? base : `http://${host}`}${path}`;
}

type Headers = ExchangeFileRequest['headers'];

function entryOf(
  comment: string,
  { started_at, outcome }: ExchangeFile,
  request: ExchangeFileRequest,
  response: ExchangeFile['chat_response'],
  url: string,
  duration: number,
): object {
  const first = response?.pieces[0]?.at_ms ?? duration;
  const wait = Math.min(first, duration);
  const body = 'body' in request ? request.body : request.base64;
  return {
    startedDateTime: started_at,
    time: duration,
    request: {
      method: request.method,
      url,
      httpVersion: 'HTTP/1.1',
      cookies: [],
      headers: request.headers,
      queryString: [...new URL(url).searchParams].map(([name, value]) => ({ name, value })),
      headersSize: -1,
      bodySize: new TextEncoder().encode(body).length,
      ...(body === ''
        ? {}
        : {
            postData: {
              mimeType: headerOf(request.headers, 'content-type'),
              text: body,
              ...('body' in request ? {} : { comment: 'in base64' }),
            },
          }),
    },
    response: {
      status: response?.status ?? 0,
      statusText: '',
      httpVersion: 'HTTP/1.1',
      cookies: [],
      headers: response?.headers ?? [],
      content: contentOf(response),
      redirectURL: headerOf(response?.headers ?? [], 'location'),
      headersSize: -1,
      bodySize: -1,
      ...(response === null ? { comment: `no answer: ${outcome}` } : {}),
    },
    cache: {},
    timings: { send: 0, wait, receive: duration - wait },
    comment,
  };
}

function contentOf(response: ExchangeFile['chat_response']): object {
  const pieces = response?.pieces ?? [];
  const mimeType = headerOf(response?.headers ?? [], 'content-type');
  const size = pieces.reduce((sum, piece) => sum + sizeOf(piece), 0);
  const texts = pieces.map((piece) => ('text' in piece ? piece.text : null));
  if (texts.every((text) => text !== null)) return { size, mimeType, text: texts.join('') };
  const bytes = pieces.map((piece) =>
    'text' in piece ? new TextEncoder().encode(piece.text) : bytesOfBase64(piece.base64),
  );
  const binary = bytes.map((part) => Array.from(part, (byte) => String.fromCharCode(byte)).join('')).join('');
  return { size, mimeType, text: btoa(binary), encoding: 'base64' };
}

function sizeOf(piece: ExchangeFilePiece): number {
  return 'text' in piece ? new TextEncoder().encode(piece.text).length : bytesOfBase64(piece.base64).length;
}

function headerOf(headers: Headers, wanted: string): string {
  return headers.find(({ name }) => name === wanted)?.value ?? '';
}
