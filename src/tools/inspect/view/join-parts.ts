import type { ExchangeFilePiece } from '../../files/exchange-file.ts';
import type { ExchangePart } from '../exchange-json.ts';
import { bodyNames, buildPerBody } from '../recording.ts';

/** One exchange with all parts that have arrived, whose bodies are in `file`. */
export type ExchangeDetail = ExchangePart;

/** Appends a part to the exchange's earlier parts. The lists of pieces grow in place, because there are many. */
export function joinParts(before: ExchangeDetail | null, part: ExchangePart): ExchangeDetail {
  const pieces: ExchangePart['pieces'] = before?.pieces ?? buildPerBody(() => []);
  for (const name of bodyNames) for (const piece of part.pieces[name]) pieces[name].push(piece);

  /** The request with its body. The object stays the same until the body grows, since reading it takes time. */
  const request = (name: 'client_request' | 'chat_request') => {
    const [known = null, head] = [before?.file[name], part.file[name]];
    if (head === null || (known !== null && pieces[name].length > 0 && part.pieces[name].length === 0))
      return head && known;
    const { method, path, headers } = head;
    const content = joinContent(pieces[name]);
    return { method, path, headers, ...('text' in content ? { body: content.text } : content) };
  };
  const response = (name: 'chat_response' | 'client_response') => {
    const head = part.file[name];
    return head === null ? null : { ...head, pieces: pieces[name] };
  };
  const requests = {
    client_request: request('client_request') ?? part.file.client_request,
    chat_request: request('chat_request'),
  };
  const responses = { chat_response: response('chat_response'), client_response: response('client_response') };
  return { ...part, pieces, file: { ...part.file, ...requests, ...responses } };
}

export function joinContent(pieces: readonly ExchangeFilePiece[]): { text: string } | { base64: string } {
  if (pieces.every((piece) => 'text' in piece)) return { text: pieces.map(({ text }) => text).join('') };
  const bytes = pieces.map((piece) => String.fromCharCode(...decodePiece(piece)));
  return { base64: btoa(bytes.join('')) };
}

/** The content as a page shows it. Bytes that are not text are marked as such. */
export function writeContent(content: ReturnType<typeof joinContent>): string {
  return 'text' in content ? content.text : `(not text) ${content.base64}`;
}

export function decodePiece(piece: ExchangeFilePiece): Uint8Array {
  if ('text' in piece) return new TextEncoder().encode(piece.text);
  return Uint8Array.from(atob(piece.base64), (character) => character.charCodeAt(0));
}
