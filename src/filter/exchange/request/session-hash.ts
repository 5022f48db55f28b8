import { createHmac } from 'node:crypto';
import type { ChatCompletionRequest } from '../../wire/schema/chat-request.ts';

/**
 * Identifies a conversation without a key: each of its requests begins with the same instructions, tools and first user
 * message. Hashed with a secret, so that the header, which is forwarded and logged, reveals nothing of them.
 */
export function sessionHashOf({ model, messages, tools }: ChatCompletionRequest, secret: string): string {
  const first = messages.findIndex(({ role }) => role === 'user');
  const beginning = first === -1 ? messages : messages.slice(0, first + 1);
  return createHmac('sha256', secret)
    .update(JSON.stringify([model, tools ?? [], beginning]))
    .digest('base64url');
}
