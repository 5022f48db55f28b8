import type { ChatMessage } from '../../../wire/schema/chat-request.ts';
import { carry } from '../trace.ts';

/** Messages of one role in a row as one, texts a blank line apart. Only the last may have calls: their outputs follow. */
export function mergeMessages(messages: readonly [ChatMessage, ...ChatMessage[]]): ChatMessage {
  if (messages.length === 1) return messages[0];
  const merged: ChatMessage = Object.assign({}, ...messages);
  const details = messages.flatMap(({ reasoning_details = [] }) => reasoning_details);
  const blocks = messages.flatMap(({ thinking_blocks = [] }) => thinking_blocks);
  const written: ChatMessage = {
    ...merged,
    ...mergedContent(messages, merged.content),
    ...mergedText('refusal', messages),
    ...mergedText('reasoning', messages),
    ...mergedText('reasoning_content', messages),
    ...(details.length === 0 ? {} : { reasoning_details: details }),
    ...(blocks.length === 0 ? {} : { thinking_blocks: blocks }),
  };
  for (const message of messages) carry(written, message);
  return written;
}

type Content = NonNullable<ChatMessage['content']>;
type Parts = Exclude<Content, string>;

/** The content of those that have some; `last` where none has. */
function mergedContent(messages: readonly ChatMessage[], last: ChatMessage['content']): Pick<ChatMessage, 'content'> {
  const contents = messages.flatMap(({ content }) => (content == null || content === '' ? [] : [content]));
  if (contents.length === 0) return last === undefined ? {} : { content: last };
  const firstParts = contents.findIndex((content) => typeof content !== 'string');
  const text = contents.slice(0, firstParts === -1 ? contents.length : firstParts).join('\n\n');
  if (firstParts === -1) return { content: text };
  return { content: [...(text === '' ? [] : partsOf(text)), ...contents.slice(firstParts).flatMap(partsOf)] };
}

/** The parts of a content; a text is one. */
export function partsOf(content: Content): Parts {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content;
}

/** The field of all messages, joined; nothing where none has it. */
function mergedText(
  field: 'refusal' | 'reasoning' | 'reasoning_content',
  messages: readonly ChatMessage[],
): Partial<ChatMessage> {
  const texts = messages.map((message) => message[field]).filter((text) => text !== undefined && text !== '');
  return texts.length === 0 ? {} : { [field]: texts.join('\n\n') };
}
