import { ApiError } from '../schema/api-error.ts';
import type { NewId, ResponseContext } from '../translate/context.ts';
import { translateRequest } from '../translate/request.ts';
import type { TranslationSettings } from '../translate/settings.ts';
import type { HeaderMap } from './types.ts';

/** The upstream's request, as bytes, and what its answer's translation needs. */
export interface PreparedRequest {
  readonly body: Buffer;
  readonly model: string;
  readonly context: ResponseContext;
  readonly dropped: readonly string[];
}

/** The client's body, whole, as the upstream's. Throws `ApiError`. */
export function prepareRequest(
  pieces: readonly Uint8Array[],
  _headers: HeaderMap,
  _maxRequestBytes: number,
  settings: TranslationSettings,
  clock: { now(): number; readonly newId: NewId },
): PreparedRequest {
  const text = Buffer.concat(pieces).toString('utf8');
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new ApiError('The request body is not valid JSON.', {
      status: 400,
      type: 'invalid_request',
      code: 'invalid_json',
      cause,
    });
  }
  const { chat, context, dropped } = translateRequest(value, settings, clock);
  return { body: Buffer.from(JSON.stringify(chat)), model: chat.model, context, dropped };
}
