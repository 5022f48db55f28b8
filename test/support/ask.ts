import type { TranslatedRequest } from '../../src/filter/translate/request-to-chat/request.ts';
import type { TranslatedOperation } from '../../src/filter/translate/request-to-chat/translated-operation.ts';
import { translateRequest } from '../../src/filter/translate/translate-request.ts';
import { ApiError } from '../../src/filter/wire/schema/api-error.ts';
import { profileOf, type Server } from './arbitrary-dialogues.ts';
import { createdAt } from './context.ts';
import { createTestSettings } from './settings.ts';

/**
 * What the server is sent for a request, without tools where it takes none; or why it is refused. Ids that are minted have an `x` in
 * them, and `turn`.
 */
export function ask(
  {
    tools,
    tool_choice,
    ...body
  }: { readonly input: unknown; readonly tools?: unknown; readonly tool_choice?: unknown },
  server: Server,
  turn = 0,
  operation?: TranslatedOperation,
): TranslatedRequest | ApiError {
  let minted = 0;
  const newId = (prefix: string) => `${prefix}_${turn}x${++minted}`;
  const settings = createTestSettings({ profile: profileOf(server), reasoningEvents: server.reasoningEvents });
  const offer = settings.profile.tools ? { tools, tool_choice } : {};
  return resultOf(() =>
    translateRequest({ model: server.model, ...body, ...offer }, settings, { now: () => createdAt, newId }, operation),
  );
}

/** What it gives, or the error of the API that it throws. */
export function resultOf<Result>(run: () => Result): Result | ApiError {
  try {
    return run();
  } catch (thrown) {
    if (thrown instanceof ApiError) return thrown;
    throw thrown;
  }
}
