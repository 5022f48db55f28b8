import { createHmac } from 'node:crypto';
import { jsonParts } from '../../../formats/json/parts.ts';
import type { TranslatedRequest } from '../../translate/request-to-chat/request.ts';
import type { TranslatedOperation } from '../../translate/request-to-chat/translated-operation.ts';
import { translateRequest } from '../../translate/translate-request.ts';
import type { ChatCompletionRequest } from '../../wire/schema/chat-request.ts';
import { estimatedInput } from '../../wire/schema/estimate.ts';
import type { ExchangeOptions } from '../options.ts';
import type { HeaderMap, Steps } from '../types.ts';
import { readRequestBody } from './request-body.ts';

export interface PreparedRequest extends Pick<TranslatedRequest, 'context' | 'dropped' | 'unknownTypes'> {
  readonly body: Buffer;
  readonly model: string;
  /** A substitute for the prompt cache key; null if there is a key, or none is wanted. */
  readonly sessionHash: string | null;
  /** The estimated tokens of the body; null where no model answers it. */
  readonly inputTokens: number | null;
}

/** A larger body is translated in steps: at 5 ms a megabyte (docs/decisions/0006-cpu-of-a-request.md), a smaller one takes 20 ms. */
export const largeBodyBytes = 4 * 1024 * 1024;
/** A larger body waits in a queue unless the service has time: one read of a connection may complete hundreds, a millisecond or two each. */
export const queuedBodyBytes = 256 * 1024;

/** Translates the client's whole body; calls `onRead` with its JSON. Throws `ApiError`. */
export function* prepareRequest(
  operation: TranslatedOperation,
  headers: HeaderMap,
  bytes: Uint8Array,
  options: Pick<ExchangeOptions, 'settings' | 'bodyLimits' | 'hold' | 'clock' | 'sessionHeader' | 'sessionHashKey'>,
  onRead: (body: unknown) => void = () => {},
): Steps<PreparedRequest> {
  const { settings, bodyLimits, hold, clock, sessionHeader, sessionHashKey } = options;
  const { maxNesting, maxValues } = settings.limits;
  const limits = { maxRequestBytes: bodyLimits.maxRequestBytes, maxNesting, maxValues };
  const isPlainAndSmall = bytes.length <= largeBodyBytes && !headers.has('content-encoding');
  const value = yield* readRequestBody(bytes, headers, limits, hold);
  onRead(value);
  yield;
  const { chat, passthrough, ...translated } = translateRequest(value, settings, clock, operation);
  const { model } = chat;
  const hasKey = Boolean(translated.context.echo.prompt_cache_key);
  const sessionHash =
    hasKey || sessionHeader === null || sessionHashKey === null ? null : hashSession(chat, sessionHashKey);
  const prepared = (body: Buffer): PreparedRequest => ({
    body,
    model,
    sessionHash,
    inputTokens: operation.generates ? estimatedInput(chat, body.length) : null,
    ...translated,
  });
  const upstreamBody = operation.body(chat, passthrough);
  if (isPlainAndSmall) return prepared(Buffer.from(JSON.stringify(upstreamBody)));
  yield;
  const written: Buffer[] = [];
  let sinceLast = 0;
  for (const part of jsonParts(upstreamBody)) {
    const piece = Buffer.from(part);
    written.push(piece);
    sinceLast += piece.length;
    if (sinceLast < largeBodyBytes) continue;
    sinceLast = 0;
    yield;
  }
  return prepared(Buffer.concat(written));
}

/** Identifies a conversation by what each of its requests begins with. The header is forwarded and logged, so the hash has a secret. */
function hashSession({ model, messages, tools }: ChatCompletionRequest, secret: string): string {
  const first = messages.findIndex(({ role }) => role === 'user');
  const beginning = first === -1 ? messages : messages.slice(0, first + 1);
  const identity = JSON.stringify([model, tools ?? [], beginning]);
  return createHmac('sha256', secret).update(identity).digest('base64url');
}
