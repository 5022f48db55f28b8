import { knownTypes } from './known-types.ts';
import { catalog } from './operations/catalog.ts';
import { compact } from './operations/compaction.ts';
import { inputTokens } from './operations/input-tokens.ts';
import type { Operation } from './operations/operation.ts';
import { responses } from './operations/responses.ts';
import { requestToChat, type TranslatedRequest } from './request-to-chat/request.ts';
import type { TranslatedOperation } from './request-to-chat/translated-operation.ts';
import type { Clock } from './shared/context.ts';
import type { TranslationSettings } from './shared/settings.ts';

/** Every operation that has a path of its own. */
export const operations: readonly Operation[] = [responses, compact, inputTokens, catalog];

/** `operation` is that of the request's path. Throws `ApiError` for the first mistake: then nothing may reach the upstream. */
export function translateRequest(
  body: unknown,
  settings: TranslationSettings,
  clock: Clock,
  operation: TranslatedOperation = responses,
): TranslatedRequest {
  return requestToChat(body, settings, clock, operation, knownTypes);
}
