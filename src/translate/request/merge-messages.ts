import type { ChatMessage } from '../../schema/chat-request.ts';

/**
 * Two messages of one role in a row as one, for servers whose users and assistants must take turns. Texts are separated by
 * a blank line, parts stay parts, and reasoning stays reasoning. `first` has no tool calls: the tool messages would follow.
 */
export function mergeMessages(first: ChatMessage, second: ChatMessage): ChatMessage {
  const content = mergeContent(first.content, second.content);
  const details = [...(first.reasoning_details ?? []), ...(second.reasoning_details ?? [])];
  return {
    ...first,
    ...second,
    ...(content === undefined ? {} : { content }),
    ...mergedText('refusal', first, second),
    ...mergedText('reasoning', first, second),
    ...mergedText('reasoning_content', first, second),
    ...(details.length === 0 ? {} : { reasoning_details: details }),
  };
}

type Content = ChatMessage['content'];
type Parts = Exclude<Content, string | null | undefined>;

function mergeContent(first: Content, second: Content): Content {
  if (isEmpty(first)) return second;
  if (isEmpty(second)) return first;
  if (typeof first === 'string' && typeof second === 'string') return `${first}\n\n${second}`;
  return [...partsOf(first), ...partsOf(second)];
}

function isEmpty(content: Content): content is '' | null | undefined {
  return content === '' || content == null;
}

function partsOf(content: string | Parts): Parts {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content;
}

/** The field of both messages, joined; nothing where neither has it. */
function mergedText(
  field: 'refusal' | 'reasoning' | 'reasoning_content',
  first: ChatMessage,
  second: ChatMessage,
): Partial<ChatMessage> {
  const texts = [first[field], second[field]].filter((text) => text !== undefined && text !== '');
  return texts.length === 0 ? {} : { [field]: texts.join('\n\n') };
}
