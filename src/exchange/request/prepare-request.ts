import { chatRequestJson, chatRequestPieces } from '../../schema/chat-request.ts';
import type { Endpoint, NewId, ResponseContext } from '../../translate/context.ts';
import { countRequestJson } from '../../translate/input-tokens.ts';
import type { UnknownType } from '../../translate/request/dropped.ts';
import { translateRequest } from '../../translate/request.ts';
import type { TranslationSettings } from '../../translate/settings.ts';
import type { Steps } from '../steps.ts';
import type { HeaderMap, Reserve } from '../types.ts';
import { readRequestBody } from './request-body.ts';

/** The request to send upstream, and what translating its response needs. */
export interface PreparedRequest {
  readonly body: Buffer;
  readonly model: string;
  readonly context: ResponseContext;
  readonly dropped: readonly string[];
  readonly unknownTypes: readonly UnknownType[];
}

/** At 5 ms a megabyte (docs/decisions/0006-cpu-of-a-request.md) a smaller body is done well within 100 ms. */
export const largeBodyBytes = 4 * 1024 * 1024;

/** Turns the client's whole body into the upstream's; reserves what it decompresses to, and calls `onRead` with its JSON. Throws `ApiError`. */
export function* prepareRequest(
  pieces: readonly Uint8Array[],
  headers: HeaderMap,
  settings: TranslationSettings,
  maxRequestBytes: number,
  clock: { now(): number; readonly newId: NewId },
  reserve: Reserve,
  endpoint: Endpoint,
  onRead: (body: unknown) => void = () => {},
): Steps<PreparedRequest> {
  const bytes = pieces.length === 1 ? (pieces[0] as Uint8Array) : Buffer.concat(pieces);
  const contentType = headers.get('content-type') ?? null;
  const contentEncoding = headers.get('content-encoding') ?? null;
  const { maxNesting, maxValues } = settings.limits;
  const limits = { maxRequestBytes, maxNesting, maxValues };
  const value = yield* readRequestBody(bytes, { contentType, contentEncoding }, limits, reserve);
  onRead(value);
  yield;
  const { chat, passthrough, ...translated } = translateRequest(value, settings, clock, endpoint);
  if (endpoint === 'input_tokens')
    return { body: Buffer.from(countRequestJson(chat, passthrough)), model: chat.model, ...translated };
  if (bytes.length <= largeBodyBytes && contentEncoding === null)
    return { body: Buffer.from(chatRequestJson(chat, passthrough)), model: chat.model, ...translated };
  const written: Buffer[] = [];
  let sinceLast = 0;
  for (const text of chatRequestPieces(chat, passthrough)) {
    const piece = Buffer.from(text);
    written.push(piece);
    sinceLast += piece.length;
    if (sinceLast < largeBodyBytes) continue;
    sinceLast = 0;
    yield;
  }
  return { body: Buffer.concat(written), model: chat.model, ...translated };
}
