import { createHmac } from 'node:crypto';
import type { ChatCompletionRequest } from '../../schema/chat-request.ts';

/**
 * What identifies a conversation that has no key: every request of it begins with the same instructions, tools and first
 * message of the user's. Under a secret, so that a header that travels and is logged tells nothing of them.
 */
export function sessionHashOf({ model, messages, tools }: ChatCompletionRequest, secret: string): string {
  const first = messages.findIndex(({ role }) => role === 'user');
  const beginning = first === -1 ? messages : messages.slice(0, first + 1);
  return createHmac('sha256', secret)
    .update(JSON.stringify([model, tools ?? [], beginning]))
    .digest('base64url');
}
